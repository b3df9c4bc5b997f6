"""A schema registry with the part of its documented interface that readers use."""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


class SchemaRegistryServer:
    """Serves what was registered; `asked` has the paths that were asked for.

    Answers and errors are as Confluent's documentation of `/subjects` and `/schemas/ids` has them.
    """

    def __init__(self, user: str | None = None, password: str = "") -> None:
        self.subjects: dict[str, list[dict]] = {}
        self.asked: list[str] = []
        want = None if user is None else base64.b64encode(f"{user}:{password}".encode()).decode()
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.asked.append(self.path)
                if want is not None and self.headers.get("Authorization") != f"Basic {want}":
                    self._answer(401, {"error_code": 401, "message": "Unauthorized"})
                    return
                self._answer(*registry._found([unquote(p) for p in self.path.split("/")[1:]]))

            def _answer(self, code: int, said: object) -> None:
                body = json.dumps(said).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        who = "" if user is None else f"{user}:{password}@"
        self.address = f"http://{who}127.0.0.1:{self._server.server_port}"

    def register(self, subject: str, schema: dict, number: int, **more: object) -> None:
        """A new version of a subject."""
        versions = self.subjects.setdefault(subject, [])
        versions.append({"subject": subject, "version": len(versions) + 1, "id": number,
                         "schema": json.dumps(schema), **more})

    def _found(self, parts: list[str]) -> tuple[int, object]:
        match parts:
            case ["subjects", subject, "versions"] if subject in self.subjects:
                return 200, [one["version"] for one in self.subjects[subject]]
            case ["subjects", subject, "versions", version] if subject in self.subjects:
                for one in self.subjects[subject]:
                    if str(one["version"]) == version:
                        return 200, one
                return 404, {"error_code": 40402, "message": "Version not found."}
            case ["schemas", "ids", number]:
                for one in (one for versions in self.subjects.values() for one in versions):
                    if str(one["id"]) == number:
                        return 200, {"schema": one["schema"]}
                return 404, {"error_code": 40403, "message": "Schema not found"}
            case _:
                return 404, {"error_code": 40401, "message": "Subject not found."}

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
