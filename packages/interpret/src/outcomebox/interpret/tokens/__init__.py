"""Token ids: read without decoding twice, continued without encoding what was sampled."""
