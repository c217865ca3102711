import sfumato

# a policy without a sink, run from Python
release = sfumato.run(
    {
        "source": "people.csv",
        "columns": {"age": {"role": "quasi_identifier"}, "town": {"role": "quasi_identifier"}, "diagnosis": {"role": "sensitive"}},
        "unnamed": "remove",
        "promises": [{"k_anonymity": {"k": 4}}],
    }
)
