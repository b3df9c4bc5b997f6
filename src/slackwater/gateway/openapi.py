"""The gateway's description for machines: OpenAPI 3.1."""

from __future__ import annotations

from typing import Any

from slackwater import __version__
from slackwater.gateway.admit import LISTED

__all__ = ["description"]

_ANSWER = {
    "type": "object",
    "required": ["accepted", "refused"],
    "additionalProperties": False,
    "properties": {
        "accepted": {"type": "integer", "minimum": 0,
                     "description": "Events that are durable now."},
        "refused": {
            "type": "array", "maxItems": LISTED,
            "description": "The first refused events; `refused_count` says if there were more.",
            "items": {
                "type": "object", "required": ["index", "reason"], "additionalProperties": False,
                "properties": {
                    "index": {"type": "integer", "minimum": 0, "description":
                              "Place in the batch, from 0; blank lines do not count."},
                    "reason": {"type": "string"},
                },
            },
        },
        "refused_count": {"type": "integer", "minimum": LISTED,
                          "description": "How many were refused, where not all are listed."},
        "error": {"type": "string", "description": "Why the request as a whole was refused."},
    },
}
_ERROR = {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}
_REFUSALS = {
    "400": "The body is not a batch of events.",
    "408": "The body did not come in time.",
    "413": "The body, the batch or the only event is too large.",
    "415": "The content type or encoding is not known.",
    "422": "No event was accepted; the first have their reasons.",
    "431": "The head of the request is too large.",
    "503": "The disk has failed, or it took too long; nothing is known to be kept.",
}


def description(*, secured: bool, required: tuple[str, ...], max_batch: int) -> dict[str, Any]:
    """The document of GET /openapi.json."""
    event: dict[str, Any] = {"type": "object", "additionalProperties": True}
    if required:
        event["required"] = list(required)
        event["properties"] = {name: {"not": {"type": "null"}} for name in required}
    unauthorised = {"401": {
        "description": "The bearer token is missing or wrong.",
        "headers": {"WWW-Authenticate": {"schema": {"type": "string"}}},
        "content": _json({"$ref": "#/components/schemas/Error"}),
    }} if secured else {}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "Slackwater gateway", "version": __version__,
            "description": "Takes events and answers once they are durable.",
        },
        "paths": {
            "/events": {"post": _post(event, unauthorised, max_batch)},
            "/health": {"get": {
                "operationId": "health", "summary": "Whether the gateway takes events.",
                "security": [],
                "responses": {
                    "200": {"description": "Alive; `status` says whether it takes events now.",
                            "content": _json({"$ref": "#/components/schemas/Health"})},
                    "503": {"description": "The log has failed.",
                            "content": _json({"$ref": "#/components/schemas/Health"})},
                },
            }},
            "/metrics": {"get": {
                "operationId": "metrics", "summary": "Prometheus text.",
                "responses": {"200": {"description": "Counts.", "content": {
                    "text/plain": {"schema": {"type": "string"}}}}, **unauthorised},
            }},
            "/openapi.json": {"get": {
                "operationId": "describe", "summary": "This document.",
                "responses": {"200": {"description": "OpenAPI 3.1.",
                                      "content": _json({"type": "object"})}, **unauthorised},
            }},
        },
        "components": {"schemas": {
            "Event": event, "Answer": _ANSWER, "Error": _ERROR,
            "Health": {"type": "object", "required": ["status"], "properties": {
                "status": {"enum": ["ok", "refusing", "failed"]}, "reason": {"type": "string"},
                "warning": {"type": "string", "description": "What somebody should look at."}}},
        }},
    }
    if secured:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _post(event: dict[str, Any], unauthorised: dict[str, Any], max_batch: int) -> dict[str, Any]:
    answer = _json({"$ref": "#/components/schemas/Answer"})
    single = {"$ref": "#/components/schemas/Event"}
    responses: dict[str, Any] = {
        "200": {"description": "Every event is durable.", "content": answer},
        "207": {"description": "Some events are durable, the others are listed.",
                "content": answer},
        "429": {"description": "The disk or a reader is behind; nothing was taken.",
                "headers": {"Retry-After": {"schema": {"type": "integer"},
                                            "description": "Seconds to wait."}},
                "content": answer},
        **{status: {"description": text, "content": answer}
           for status, text in _REFUSALS.items()},
        **unauthorised,
    }
    return {
        "operationId": "send", "summary": "Send one event or a batch.",
        "requestBody": {"required": True, "content": {
            "application/json": {"schema": {"oneOf": [
                single, {"type": "array", "items": single, "maxItems": max_batch}]}},
            "application/x-ndjson": {"schema": {
                "type": "string", "description": "One event a line."}},
        }},
        "responses": dict(sorted(responses.items())),
    }
