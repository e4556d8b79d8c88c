"""The description of a view, as drf-spectacular asks for it."""

import inspect
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, cast

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent, is_jsonschema_compliant

from asyncjobs.api.openapi import examples
from asyncjobs.api.openapi.answers import JSON, problems
from asyncjobs.api.openapi.components import COMPONENTS
from asyncjobs.api.openapi.dialect import Schema, old_schema, with_old_schemas
from asyncjobs.api.openapi.operations import OPERATIONS, Operation
from asyncjobs.api.openapi.shapes import ref
from asyncjobs.api.openapi.submission import BATCH, NAME, submissions
from asyncjobs.api.submissions import exposed


class Description(AutoSchema):
    """Takes what there is to say from the table of operations, and asks the site who may come in."""

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: ComponentRegistry
    ) -> Schema | None:
        self.registry, self.method = registry, method
        operation = self._operation()
        if operation is None:
            return super().get_operation(path, path_regex, path_prefix, method, registry)
        components = COMPONENTS | (submissions(exposed()) if operation.body in (NAME, BATCH) else {})
        for name, schema in components.items():
            self._register(ResolvedComponent.SCHEMA, name, _in_dialect(schema, old_schema))
        return _in_dialect(self._described(operation, components))

    def _operation(self) -> Operation | None:
        """That of the view, or of the one of ours that a site has made it from."""
        own = (OPERATIONS[view] for view in type(self.view).__mro__ if view in OPERATIONS)
        return next(own, {}).get(self.method)

    def _described(self, operation: Operation, components: Mapping[str, Schema]) -> Schema:
        summary, _, description = _docstring(getattr(self.view, self.method.lower())).partition("\n")
        described = {
            "operationId": operation.id,
            "summary": summary.removesuffix("."),
            "description": description.strip(),
            "tags": [operation.tag],
            "parameters": list(operation.parameters),
            "requestBody": _body(operation, components),
            "security": self.get_auth(),
            "responses": self._responses(operation),
            "callbacks": operation.callbacks,
        }
        return {name: part for name, part in described.items() if part}

    def _responses(self, operation: Operation) -> dict[str, Schema]:
        responses = {str(status): answer for status, answer in operation.answers.items()}
        for status, (name, problem) in problems(operation.problems).items():
            self._register(ResolvedComponent.RESPONSE, name, _in_dialect(problem))
            responses[status] = {"$ref": f"#/components/responses/{name}"}
        return dict(sorted(responses.items()))

    def _register(self, kind: str, name: str, described: Schema) -> None:
        component = ResolvedComponent(name=name, type=kind, schema=described, object=name)
        self.registry.register_on_missing(component)


def _in_dialect(described: Schema, translated: Callable[[Any], Any] = with_old_schemas) -> Schema:
    """In that of the version of OpenAPI that the site wants. A copy, for hooks of the site may change it in place."""
    return cast(Schema, deepcopy(described if is_jsonschema_compliant() else translated(described)))


def _docstring(method: Any) -> str:
    return inspect.getdoc(method) or ""


def _body(operation: Operation, components: Mapping[str, Schema]) -> Schema | None:
    if not operation.body:
        return None
    shown = examples.requests(components).get(operation.body, {})
    content = {"schema": ref(operation.body), "examples": {label: {"value": value} for label, value in shown.items()}}
    return {
        "required": operation.needs_body,
        "content": {JSON: {name: part for name, part in content.items() if part}},
    }
