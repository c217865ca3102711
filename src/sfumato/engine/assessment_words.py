"""An assessment in words, for people who read it on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.engine.assess import Assessment


def in_words(found: Assessment) -> str:
    """Return what was found, one fact a line."""
    who = found.counted
    prosecutor = found.prosecutor
    lines = [
        f"table          {found.rows:,} rows" + (f" of {found.people:,} people" if found.counts_people else ""),
        f"by             {', '.join(found.quasi_identifiers)}",
        f"unique         {prosecutor['unique']:.2%} of the {who} share their combination with nobody",
        "prosecutor     who knows that somebody is in the table finds them with a probability",
        f"  of at most   {prosecutor['highest_risk']:.2%}",
        f"  on average   {prosecutor['average_risk']:.2%}, which is also the part of everybody that a marketer finds",
        *(f"  risk > {threshold:<5} {share:.2%} of the {who}" for threshold, share in prosecutor["at_risk"].items()),
    ]
    if found.journalist is not None:
        highest, average = found.journalist["highest_risk"], found.journalist["average_risk"]
        lines.append("journalist     who knows only that somebody is in the population finds them with a probability")
        if found.journalist["estimated"]:
            lines += [
                f"  about        {average:.2%} on average, {highest:.2%} for those who are alone in the table",
                "               estimated from the number alone, as if the table were a random sample; a table of the population tells the true one",
            ]
        else:
            lines += [f"  of at most   {highest:.2%}", f"  on average   {average:.2%}"]
            if found.journalist["not_in_population"]:
                share = found.journalist["not_in_population"]
                lines.append(f"  not there    {share:.2%} of the {who} are not in the population: it is not everybody, or written in another way")
    lines.append("columns and combinations that single people out most")
    told = [*found.columns, *found.combinations]
    width = max(len(", ".join(about["columns"])) for about in told)
    lines.append(f"  {'':<{width}}  unique  separation  distinction")
    lines += [
        f"  {', '.join(about['columns']):<{width}}  {about['unique']:>6.2%}  {about['separation']:>10.4%}  {about['distinction']:>11.4%}"
        for about in told
    ]
    return "\n".join(lines)
