"""The objects that compiled code changes."""

from shapelog.reading.payloads.side_effects import changed_objects

RECORDED = """Mutating object of type Net (source name: L['self'])

      File "/srv/app/model.py", line 13, in forward
        self.past = (k, v)

========================================

Mutating object of type list (source name: L['caches'])

      File "/srv/app/model.py", line 14, in forward
        caches[0] = k

========================================

Mutating object of type dict (source: created in torch.compile region)

========================================

Mutating object of type int (source name: G['count']) (unable to find user stacks for mutations)"""


def test_objects_of_the_caller_are_named() -> None:
    assert changed_objects(RECORDED) == {"L['self']", "L['caches']", "G['count']"}
