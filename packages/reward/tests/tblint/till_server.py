"""A till as a tool server in the ThinkingBox form, on the standard library alone: it starts at once."""

import copy
import datetime
import hashlib
import json
import os
import sys

SEED = {
    "sales": [{"id": f"S-{n}", "total": 10 * n, "state": "paid"} for n in range(1, 5)],
    "cases": [{"id": "C-1", "sale": "S-4", "title": "old", "body": "long done", "status": "solved", "rank": "low"}],
    "payments": [],
}


class Till:
    def __init__(self, tables):
        self.tables = copy.deepcopy(tables)

    def _row(self, table, key):
        for row in self.tables[table]:
            if row["id"] == key:
                return row
        raise ValueError(f"no {key} in {table}")

    def _add(self, table, letter, **row):
        key = f"{letter}-{len(self.tables[table]) + 1}"
        self.tables[table].append({"id": key, **row})
        return {"id": key}

    def find_sale(self, sale):
        return self._row("sales", sale)

    def open_case(self, sale, title, body, rank="low"):
        self._row("sales", sale)
        if rank not in {"low", "high"}:
            raise ValueError(f"no such rank: {rank}")
        return self._add("cases", "C", sale=sale, title=title, body=body, status="open", rank=rank)

    def close_case(self, case):
        self._row("cases", case)["status"] = "solved"
        return {"id": case}

    def pay_back(self, case, amount):
        sale = self._row("sales", self._row("cases", case)["sale"])
        sale["state"] = "paid back"
        return self._add("payments", "P", case=case, amount=amount, on="2030-01-01")

    def stamp(self, case):
        self._row("cases", case)["stamped"] = datetime.datetime.now(datetime.UTC).isoformat()
        return {"id": case}

    def draw(self, case):
        self._row("cases", case)["ticket"] = os.urandom(8).hex()
        return {"id": case}

    def age(self, case):
        row = self._row("cases", case)
        return {"id": row["id"], "days": (datetime.datetime.now(datetime.UTC) - datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)).days}

    def hash(self):
        return hashlib.sha256(json.dumps(self.tables, sort_keys=True).encode()).hexdigest()


LIVE, GOLDEN = Till(SEED), []
TEXT = {"type": "string"}
TOOLS = {
    "__reserved__init": {"config": {"type": "object"}},
    "__reserved__geteffects": {},
    "find_sale": {"sale": TEXT},
    "open_case": {"sale": TEXT, "title": TEXT, "body": TEXT, "rank": TEXT},
    "close_case": {"case": TEXT},
    "pay_back": {"case": TEXT, "amount": {"type": "integer"}},
    "stamp": {"case": TEXT},
    "draw": {"case": TEXT},
    "age": {"case": TEXT},
}


def call(name, arguments):
    if name == "__reserved__init":
        GOLDEN[:] = arguments["config"].get("golden_test_case", {}).get("tool_interactions", [])
        return {"status": "ok"}
    if name == "__reserved__geteffects":
        golden = Till(SEED)
        for interaction in GOLDEN:
            try:
                getattr(golden, interaction["tool"])(**interaction["parameters"])
            except (ValueError, AttributeError):
                continue
        return {
            "initial_db_state": SEED,
            "result_db_state": LIVE.tables,
            "result_db_hash": LIVE.hash(),
            "golden_db_state": golden.tables,
            "golden_db_hash": golden.hash(),
        }
    return getattr(LIVE, name)(**arguments)


def answer(method, params):
    if method == "initialize":
        about = {"name": "till", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {
            "tools": [
                {"name": name, "description": name, "inputSchema": {"type": "object", "properties": properties, "required": [*properties]}}
                for name, properties in TOOLS.items()
            ]
        }
    try:
        text, failed = json.dumps(call(params["name"], params.get("arguments") or {})), False
    except Exception as error:
        text, failed = str(error), True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message["method"], message.get("params", {}))}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
