"""Parameters that a docstring describes in one line ("kernel, loss") get the defaults of each.

griffe gives all of them the type and the default of the first.
"""

from typing import Any

from griffe import Class, DocstringSectionKind, Extension, Function, Module, Object


class EachItsOwn(Extension):
    """Mends what was parsed, once a package is loaded."""

    def on_package(self, *, pkg: Module, **kwargs: Any) -> None:
        _mend(pkg)


def _mend(part: Object) -> None:
    for member in part.members.values():
        if member.is_alias:
            continue
        if isinstance(member, Class | Function) and member.docstring:
            _mend_parameters(member)
        if isinstance(member, Class | Module):
            _mend(member)


def _mend_parameters(part: Class | Function) -> None:
    known = {parameter.name: parameter for parameter in part.parameters}
    of_signature = {id(parameter.annotation) for parameter in known.values()}
    for section in part.docstring.parsed:
        if section.kind is DocstringSectionKind.parameters:
            for described in section.value:
                if id(described.annotation) in of_signature and described.name in known:
                    described.annotation = known[described.name].annotation
                    described.value = known[described.name].default
