import pyarrow as pa

import sfumato

calls = [{"to": "0421 1234", "minutes": 3}, {"to": "0421 9876", "minutes": 5}]
table = pa.table({"who": ["Ada", "Ben"], "calls": [calls, calls[:1]]})
mask = {"nested": {"paths": {"$[*].to": {"character_mask": {"keep_last": 2}}}, "others": "keep"}}
policy = {"columns": {"who": {"role": "identifier"}, "calls": {"role": "other", "mask": mask}}}
release = sfumato.run(policy, data=table)
