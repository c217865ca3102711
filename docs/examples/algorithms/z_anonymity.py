import numpy as np
import pyarrow as pa
import pyarrow.csv

from sfumato.algorithms.z_anonymity import ZAnonymity
from sfumato.core.events import Events

people = pyarrow.csv.read_csv("people.csv").select(["town", "diagnosis"])
minutes = np.arange(len(people)) * 60_000_000
shown = pa.array([f"{row['town']}.{row['diagnosis']}" for row in people.to_pylist()])

session = ZAnonymity(z=3, window="20m", time="at", path="shown").start()
decided = session.push(Events(np.arange(len(people)), minutes, np.arange(len(people)), shown))
release = pa.table({"minute": decided.places, "shown": decided.published["shown"].take(decided.places)})
