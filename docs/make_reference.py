"""Writes the reference pages: one a component, a command, an error code and a key of a policy, from the code itself and from examples that are run.

``make docs`` writes them; a test holds them against what this would write.
"""

from __future__ import annotations

from reference_pages.commands import command_page, commands
from reference_pages.components import PAGES, component_page
from reference_pages.errors import error_page, sections
from reference_pages.settings import setting_page, settings

from sfumato.registry import KINDS, names

_HEADINGS = {"settings": "Keys of a policy", "errors": "Error codes"}
_WORDS = {"errors": "All on one page: [errors.md](../errors.md).\n\n"}


def pages() -> dict[str, str]:
    """Return the text of every page by its path below the folder of the reference."""
    found = {f"{kind}/{name}.md": component_page(kind, name) for kind in KINDS for name in names(kind)}
    found |= {f"commands/{'_'.join(words)}.md": command_page(words) for words in commands()}
    found |= {f"settings/{setting.page}": setting_page(setting) for setting in settings()}
    found |= {f"errors/{code}.md": error_page(code, text) for code, text in sections()}
    found["README.md"] = _index(found)
    return found


def _index(found: dict[str, str]) -> str:
    lines = ["# Reference\n\nMade by `make docs` from the code; the examples were run. Policies as a whole are in [policy.md](../policy.md)."]
    for kind in [*KINDS, "commands", "settings", "errors"]:
        links = [f"- [{_title(kind, page)}]({page})" for page in found if page.startswith(f"{kind}/")]
        lines.append(f"## {_HEADINGS.get(kind, kind.capitalize())}\n\n{_WORDS.get(kind, '')}" + "\n".join(links))
    return "\n\n".join(lines) + "\n"


def _title(kind: str, page: str) -> str:
    name = page.removeprefix(f"{kind}/").removesuffix(".md")
    return name.replace("_", " ") if kind == "commands" else name


def main() -> None:
    """Write the pages, and remove those that nothing stands behind any more."""
    texts = pages()
    for old in PAGES.rglob("*.md"):
        if str(old.relative_to(PAGES)) not in texts:
            old.unlink()
    for page, text in texts.items():
        (PAGES / page).parent.mkdir(parents=True, exist_ok=True)
        (PAGES / page).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
