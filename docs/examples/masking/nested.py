import json

import pyarrow as pa

import sfumato

calls = [{"to": "0421 1234", "long": 3}, {"to": "0421 9876", "long": 5}]
table = pa.table({"who": ["Ada", "Ben"], "calls": [json.dumps(calls), json.dumps(calls[:1])]})
mask = {"nested": {"paths": {"$[*].to": {"character_mask": {"keep_last": 2}}}, "others": "keep"}}
policy = {"columns": {"who": {"role": "identifier"}, "calls": {"role": "other", "mask": mask}}}
release = sfumato.run(policy, data=table)
