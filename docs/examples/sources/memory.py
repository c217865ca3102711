import pyarrow.csv

import sfumato

people = pyarrow.csv.read_csv("people.csv").select(["age", "town", "diagnosis"])
policy = {
    "columns": {"age": {"role": "quasi_identifier"}, "town": {"role": "quasi_identifier"}, "diagnosis": {"role": "sensitive"}},
    "promises": [{"k_anonymity": {"k": 4}}],
}
release = sfumato.run(policy, data=people)
