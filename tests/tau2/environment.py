"""The domains of τ²-bench as environments that can be reset for each task. No model is involved.

The environments are those of the package `inspect-evals`, unchanged. They use a few names of the framework `inspect_ai`,
which this module defines in their place: the framework would install a hundred packages for running models.
"""

import asyncio
import gzip
import hashlib
import importlib
import importlib.util
import inspect
import json
import pickle
import sys
import types
from pathlib import Path

from pydantic import BaseModel, ConfigDict, validate_call


class ToolError(Exception):
    """An error that a tool reports to its caller."""


class StoreModel(BaseModel):
    """The state of one toolkit."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    instance: str | None = None


_stores: dict[tuple[type, str | None], StoreModel] = {}


def store_as(kind, instance=None):
    return _stores.setdefault((kind, instance), kind(instance=instance))


def _provide(name, **members):
    module = types.ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module
    return module


def _import_package():
    """Makes the environments importable without the framework."""
    _provide("inspect_ai", __path__=[])
    _provide("inspect_ai.tool", ToolError=ToolError, Tool=object, tool=lambda function: function)
    _provide("inspect_ai.util", StoreModel=StoreModel, store_as=store_as)
    _provide("inspect_ai.model", Content=object, ContentText=object)
    folder = Path(importlib.util.find_spec("inspect_evals").submodule_search_locations[0]) / "tau2"
    # The packages' own `__init__` would import the evaluations.
    _provide("inspect_evals.tau2", __path__=[str(folder)])
    _provide("inspect_evals.tau2.banking", __path__=[str(folder / "banking")])
    return folder / "data" / "domains"


DATA = _import_package()


def _module(path):
    return importlib.import_module(f"inspect_evals.tau2.{path}")


# The tools that change nothing. The replay checks that the state is the same after each of their calls.
READS = {
    "airline": {
        "calculate",
        "get_flight_status",
        "get_reservation_details",
        "get_user_details",
        "list_all_airports",
        "search_direct_flight",
        "search_onestop_flight",
    },
    "retail": {
        "calculate",
        "find_user_id_by_email",
        "find_user_id_by_name_zip",
        "get_order_details",
        "get_product_details",
        "get_user_details",
        "list_all_product_types",
    },
    "telecom": {
        "can_send_mms",
        "check_apn_settings",
        "check_app_permissions",
        "check_app_status",
        "check_data_restriction_status",
        "check_installed_apps",
        "check_network_mode_preference",
        "check_network_status",
        "check_payment_request",
        "check_sim_status",
        "check_status_bar",
        "check_vpn_status",
        "check_wifi_calling_status",
        "check_wifi_status",
        "get_bills_for_customer",
        "get_customer_by_id",
        "get_customer_by_name",
        "get_customer_by_phone",
        "get_data_usage",
        "get_details_by_id",
        "run_speed_test",
    },
    "banking": {
        "get_credit_card_accounts_by_user",
        "get_credit_card_transactions_by_user",
        "get_current_time",
        "get_referrals_by_user",
        "get_user_information_by_email",
        "get_user_information_by_id",
        "get_user_information_by_name",
        "grep",
        "list_discoverable_agent_tools",
        "list_discoverable_user_tools",
    },
}

DOMAINS = list(READS)


class Environment:
    """A domain with its tools, its tasks and its state."""

    def __init__(self, domain, all_tasks=False):
        self.domain = domain
        folder = DATA / {"banking": "banking_knowledge"}.get(domain, domain)
        tasks = _load(folder / "tasks.json")
        split = folder / "split_tasks.json"
        if split.exists() and not all_tasks:
            chosen = set(json.loads(split.read_text())["base"])
            tasks = [task for task in tasks if task["id"] in chosen]
        self.tasks = tasks
        tools = _module(f"{domain}.tools")
        makers = [maker for name, makers in vars(tools).items() if name.startswith("all_") for maker in makers]
        if domain in ("telecom", "banking"):
            user_tools = _module(f"{domain}.user_tools")
            makers += [maker for name, makers in vars(user_tools).items() if name.startswith("all_") for maker in makers]
        if domain == "banking":
            makers.append(tools.banking_grep)
        # The gold calls use the names of the benchmark, which have no prefix.
        self.tools = {maker.__name__.removeprefix("banking_"): maker() for maker in makers}
        unknown = READS[domain] - self.tools.keys()
        assert not unknown, f"no such tools: {unknown}"
        _stores.clear()
        self._initialize()
        # Loading a database again for each task would take longer than its calls.
        self._initial = pickle.dumps(_stores)

    def _initialize(self):
        if self.domain == "airline":
            _module("airline.AirlineAgentTools").get_airline_tools()
        elif self.domain == "retail":
            _module("retail.tools").get_retail_tools()
        elif self.domain == "telecom":
            _module("telecom.environment").get_environment()
        else:
            _module("banking.environment").initialize_environment()

    def reset(self, number):
        """Prepares the state in which a task begins."""
        _stores.clear()
        _stores.update(pickle.loads(self._initial))
        initial = self.tasks[number].get("initial_state") or {}
        if self.domain == "telecom":
            environment = _module("telecom.environment").get_environment()
            for action in initial.get("initialization_actions") or []:
                tools = environment.user_tools if action["env_type"] == "user" else environment.tools
                getattr(tools, action["func_name"])(**action["arguments"])
                environment.sync_tools()
        elif self.domain == "banking":
            banking = _module("banking.environment")
            task = _module("data_model.tasks").Task.model_validate(self.tasks[number])
            banking.apply_initial_state(banking.get_agent_tools(), banking.get_user_tools(), task.initial_state)
        self._synchronize()

    def digest(self):
        """The digest of all state."""
        state = {f"{kind.__name__}/{instance}": model.model_dump() for (kind, instance), model in _stores.items()}
        return hashlib.sha256(json.dumps(state, sort_keys=True, default=_plain).encode()).hexdigest()

    async def run(self, tool, arguments):
        """Calls a tool. Returns its text, or raises `ToolError`."""
        try:
            # A server converts arguments to the declared types: an integer may become a float.
            return await validate_call(self.tools[tool])(**arguments)
        finally:
            self._synchronize()

    def call(self, tool, arguments):
        return asyncio.run(self.run(tool, arguments))

    def _synchronize(self):
        """In this domain, what the agent changes has consequences for the user, and the reverse."""
        if self.domain == "telecom":
            _module("telecom.environment").get_environment()

    def gold_calls(self, number):
        """The calls with which a task is solved: the tool and its arguments."""
        criteria = self.tasks[number].get("evaluation_criteria") or {}
        return [(action["name"], action["arguments"]) for action in criteria.get("actions") or []]

    def more_reads(self, random, count):
        """Calls that read things of the database, because the gold calls of some domains hardly read."""
        candidates = {
            "airline": self._airline_reads,
            "retail": self._retail_reads,
            "telecom": self._telecom_reads,
            "banking": self._banking_reads,
        }[self.domain](random)
        return [random.choice(candidates)() for _ in range(count)]

    def _database(self):
        return next(model.db for (kind, _), model in _stores.items() if "Agent" in kind.__name__)

    def _airline_reads(self, random):
        database = self._database()
        one = lambda table: random.choice(sorted(table))

        def flight(tool):
            number = one(database.flights)
            flight = database.flights[number]
            ends = {"origin": flight.origin, "destination": flight.destination, "date": one(flight.dates)}
            return (tool, ends)

        def status():
            number = one(database.flights)
            return ("get_flight_status", {"flight_number": number, "date": one(database.flights[number].dates)})

        return [
            lambda: ("get_user_details", {"user_id": one(database.users)}),
            lambda: ("get_reservation_details", {"reservation_id": one(database.reservations)}),
            lambda: flight("search_direct_flight"),
            lambda: flight("search_onestop_flight"),
            lambda: ("list_all_airports", {}),
            status,
        ]

    def _retail_reads(self, random):
        database = self._database()
        one = lambda table: random.choice(sorted(table))
        return [
            lambda: ("get_order_details", {"order_id": one(database.orders)}),
            lambda: ("get_product_details", {"product_id": one(database.products)}),
            lambda: ("get_user_details", {"user_id": one(database.users)}),
            lambda: ("list_all_product_types", {}),
            lambda: ("find_user_id_by_email", {"email": database.users[one(database.users)].email}),
        ]

    def _telecom_reads(self, random):
        database = self._database()
        ids = [
            *(customer.customer_id for customer in database.customers),
            *(line.line_id for line in database.lines),
            *(device.device_id for device in database.devices),
            *(bill.bill_id for bill in database.bills),
            *(plan.plan_id for plan in database.plans),
        ]
        customer = lambda: random.choice(database.customers)

        def usage():
            owner = customer()
            line = random.choice(owner.line_ids or ["L0"])
            return ("get_data_usage", {"customer_id": owner.customer_id, "line_id": line})

        def by_name():
            owner = customer()
            born = random.choice([str(owner.date_of_birth), "1900-01-01"])
            return ("get_customer_by_name", {"full_name": owner.full_name, "dob": born})

        checks = sorted(name for name in READS["telecom"] if name.startswith("check_") and "app" not in name)
        return [
            lambda: ("get_customer_by_id", {"customer_id": customer().customer_id}),
            lambda: ("get_customer_by_phone", {"phone_number": customer().phone_number}),
            by_name,
            lambda: ("get_details_by_id", {"id": random.choice(ids)}),
            lambda: ("get_details_by_id", {"id": random.choice(ids)}),
            lambda: ("get_bills_for_customer", {"customer_id": customer().customer_id}),
            usage,
            lambda: (random.choice(checks), {}),
        ]

    def _banking_reads(self, random):
        users = self._database().users.data
        user = lambda: random.choice(sorted(users))
        by_user = ["get_credit_card_accounts_by_user", "get_credit_card_transactions_by_user", "get_referrals_by_user"]
        return [
            lambda: ("get_user_information_by_id", {"user_id": user()}),
            lambda: ("get_user_information_by_email", {"email": users[user()].get("email", "nobody@example.com")}),
            lambda: (random.choice(by_user), {"user_id": user()}),
            lambda: ("grep", {"pattern": random.choice(["credit card", "dispute|chargeback", "no such words"])}),
            lambda: ("list_discoverable_agent_tools", {}),
        ]


def _plain(value):
    """A value that JSON has no form for: a date, or an object whose default text would be its address."""
    return vars(value) if hasattr(value, "__dict__") else str(value)


def _load(path):
    packed = path.with_name(path.name + ".gz")
    text = gzip.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()
    return json.loads(text)


def description(tool):
    """What a server says about a tool: its documentation."""
    return inspect.getdoc(tool) or ""
