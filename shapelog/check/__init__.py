"""A report and a policy → pass or fail, alerts, baseline."""
