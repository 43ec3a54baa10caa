"""The product: every claim of the catalogue is a test."""

from fixtures.measurements import claims_of
from tuneproof.catalogue import every_advice

for advice in every_advice():
    vars()[f"Test_{advice.name}"] = claims_of(advice)
