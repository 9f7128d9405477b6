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


def test_objects_of_the_caller_are_named_with_the_lines_that_change_them() -> None:
    assert changed_objects(RECORDED) == {"L['self']": ("self.past = (k, v)",), "L['caches']": ("caches[0] = k",), "G['count']": ()}


def test_of_several_stacks_each_has_its_innermost_line() -> None:
    stack = '      File "/srv/app/model.py", line {}, in forward\n        {}\n        ^^^^^\n'
    text = "Mutating object of type list (source name: L['d'])\n\n" + stack.format(13, "fill(d)") + stack.format(4, "d.append(k)")
    text += "\n" + stack.format(14, "d[0] = k")
    assert changed_objects(text) == {"L['d']": ("d.append(k)", "d[0] = k")}


def test_code_that_only_changes_what_it_made_itself_changes_no_object_of_the_caller() -> None:
    text = 'Mutating object of type OrderedDict (no source)\n\n      File "/srv/app/model.py", line 13, in forward\n        d[0] = k\n'
    assert changed_objects(text) == {}
