#!/usr/bin/env python3
"""Build the rental database: `build.py FILE.db`. An existing file is replaced. The rows are the same every time."""

import json
import random
import sqlite3
import sys
from datetime import datetime, timedelta
from pathlib import Path

HERE = Path(__file__).resolve().parent
TODAY = datetime(2026, 10, 1)
FIRST_BOOKING = datetime(2024, 1, 2)
RENTAL_COUNT = 9600

BRANCHES = [
    ("HAR", "Harbour", "Lübeck"), ("MIL", "Old Mill", "Kiel"), ("STA", "Station Yard", "Hamburg"),
    ("AIR", "Airfield", "Hamburg"), ("QUA", "Quarry", "Rostock"), ("CAN", "Canal Street", "Bremen"),
    ("RID", "Ridge Park", "Schwerin"), ("WES", "Westgate", "Bremen"),
]
SUPPLIERS = [
    ("Norvik", "NO", "+47 22 55 01 10"), ("Tagliabue", "IT", None), ("Kestrel Tools", "GB", "+44 20 7946 0102"),
    ("Hagemann", "DE", "+49 30 5550 104"), ("Osaka Kikai", "JP", None), ("Pico & Sons", "PT", "+351 21 555 0106"),
]
# Groups, their categories, and how many models each category has.
CATEGORIES = {
    "Earthmoving": {"Mini excavators": 6, "Compactors": 6, "Trenchers": 4},
    "Power": {"Generators": 7, "Lighting towers": 4},
    "Access": {"Scissor lifts": 5, "Boom lifts": 5, "Scaffolds": 4},
    "Water": {"Pumps": 6, "Dryers": 5},
}
FIRST_NAMES = (
    "Anna Bruno Carla Daniel Elif Felix Greta Hannes Ines Jonas Karla Lars Maria Nils Olga Paul Rosa Stefan Tilda Uwe "
    "Vera Wim Yusuf Zoe"
).split()
LAST_NAMES = (
    "Albers Brandt Claasen Demir Ehlers Frahm Gerdes Hinrichs Iversen Jansen Keller Lorenz Matthies Nowak Oltmann "
    "Petersen Quandt Rohde Sievers Thomsen Ulrich Voss Wolters Yilmaz Zander"
).split()
TRADES = "Roofing Paving Landscaping Concrete Events Drainage Carpentry Demolition".split()
PARTS = (
    "Air filter|Oil filter|Fuel filter|Spark plug|Hydraulic hose|Track pad|Bucket tooth|Drive belt|Battery|Fuse set|"
    "Control lever|Light bulb|Impeller|Gasket set|Tyre|Brake pad"
).split("|")


class Dice:
    """Random choices built on `random()` alone, whose sequence is the same in every version of Python."""

    def __init__(self, seed: int):
        self.random = random.Random(seed).random

    def below(self, limit: int) -> int:
        return int(self.random() * limit)

    def between(self, low: int, high: int) -> int:
        return low + self.below(high - low + 1)

    def pick(self, items):
        return items[self.below(len(items))]

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def sample(self, items, count: int) -> list:
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(min(count, len(rest)))]


def iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def day(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d")


def insert(database: sqlite3.Connection, table: str, rows: list[tuple]) -> None:
    marks = ", ".join("?" * len(rows[0]))
    database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def add_organization(database: sqlite3.Connection, dice: Dice) -> list[tuple]:
    """Branches, and nine employees each: a manager, desk clerks, mechanics and drivers."""
    branches, employees = [], []
    names = dice.sample([f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES if last != "Keller"], 72)
    for number, (code, name, city) in enumerate(BRANCHES, start=1):
        manager_id = len(employees) + 1
        # The newest branch has no manager of its own yet.
        opened = day(datetime(2009 + 2 * number, 3, 1))
        branches.append((number, code, name, city, opened, manager_id if number < 8 else None))
        for position in range(9):
            role = ("manager", "desk", "desk", "desk", "mechanic", "mechanic", "mechanic", "driver", "driver")[position]
            if number == 8 and position == 0:
                role = "desk"
            supervisor = manager_id if position else (1 if number > 1 else None)
            hired = datetime(2012, 1, 1) + timedelta(days=dice.below(4500))
            left = None
            if position in (3, 8) and dice.chance(0.4):
                left = day(datetime(2026, 1, 1) + timedelta(days=dice.below(200)))
            employees.append((len(employees) + 1, names[len(employees)], number, supervisor, role, day(hired), left))
    insert(database, "branches", branches)
    insert(database, "employees", employees)
    return employees


def add_customers(database: sqlite3.Connection, dice: Dice) -> int:
    rows, cities = [], ["Lübeck", "Kiel", "Hamburg", "Rostock", "Bremen", "Schwerin", "Flensburg", None]
    for number in range(1, 1201):
        last = dice.pick([name for name in LAST_NAMES if name != "Keller"])
        company = dice.chance(0.45)
        name = f"{last} {dice.pick(TRADES)}" if company else f"{dice.pick(FIRST_NAMES)} {last}"
        if company:
            name += f" {number}"  # Companies are told apart by name; people are not.
        email = f"c{number}@example.com" if dice.chance(0.8) else None
        referrer = dice.between(1, number - 1) if number > 20 and dice.chance(0.25) else None
        created = FIRST_BOOKING + timedelta(days=dice.below(900), minutes=dice.below(1440))
        rows.append([number, "company" if company else "person", name, email, dice.pick(cities), referrer, iso(created)])
    # Two people of one name: the second has never rented and nobody was referred by her.
    for number, city in ((318, "Kiel"), (1201, "Bremen")):
        keller = [number, "person", "Maria Keller", f"keller{number}@example.com", city, None, iso(datetime(2026, 2, 3, 10))]
        if number <= len(rows):
            rows[number - 1] = keller
        else:
            rows.append(keller)
    insert(database, "customers", [tuple(row) for row in rows])
    return 1200


def add_fleet(database: sqlite3.Connection, dice: Dice) -> tuple[dict[int, int], list[int]]:
    """Suppliers, categories, models and units. Returns the daily prices of the units that get rented out, and all units."""
    insert(database, "suppliers", [(n, *row) for n, row in enumerate(SUPPLIERS, start=1)])
    categories, models, units = [], [], []
    for group, children in CATEGORIES.items():
        group_id = len(categories) + 1
        categories.append((group_id, group, None))
        for title, count in children.items():
            category_id = len(categories) + 1
            categories.append((category_id, title, group_id))
            for position in range(count):
                number = len(models) + 1
                supplier = dice.between(1, len(SUPPLIERS)) if dice.chance(0.88) else None
                name = f"{title[:2].upper()}-{100 + 7 * number}{'ABCDEFG'[position]}"
                daily = 100 * dice.between(18, 240)
                weight = round(40 + 4000 * dice.random(), 1) if dice.chance(0.8) else None
                models.append((number, category_id, supplier, name, daily, 5 * daily, weight))
    # Some models are in the catalog but were never bought; two were bought and never rented out.
    unbought = {9, 27, 44}
    idle = {15, 38}
    rentable: dict[int, int] = {}
    for number, _, _, _, daily, _, _ in models:
        for _ in range(0 if number in unbought else dice.between(5, 11)):
            unit = len(units) + 1
            specs: dict = {"fuel": dice.pick(["diesel", "petrol", "electric", "hybrid"])}
            specs["colour"] = dice.pick(["yellow", "orange", "green"])
            if specs["fuel"] in ("diesel", "petrol"):
                specs["tank_l"] = dice.between(4, 90)
            if dice.chance(0.3):
                specs["telematics"] = {"vendor": dice.pick(["Tracko", "FleetEye"]), "id": f"T{1000 + unit}"}
            state = "retired" if dice.chance(0.06) else "workshop" if dice.chance(0.07) else "available"
            bought = datetime(2015, 1, 1) + timedelta(days=dice.below(3200))
            hours = round(20 + 6000 * dice.random(), 1) if dice.chance(0.75) else None
            serial = f"{BRANCHES[unit % 8][0]}-{20000 + 37 * unit}"
            price = daily * dice.between(60, 140)
            units.append((unit, number, unit % 8 + 1, serial, state, day(bought), price, hours, json.dumps(specs)))
            if number not in idle:
                rentable[unit] = daily
    insert(database, "categories", categories)
    insert(database, "models", models)
    insert(database, "units", units)
    return rentable, [unit[0] for unit in units]


def add_rentals(
    database: sqlite3.Connection, dice: Dice, customers: int, rentable: dict[int, int], desks: list[list[int]]
) -> None:
    rentals, lines, payments = [], [], []
    for number in range(1, RENTAL_COUNT + 1):
        booked = FIRST_BOOKING + timedelta(days=int(1000 * number / RENTAL_COUNT), minutes=dice.below(1440))
        # More in spring and summer, so that months differ.
        if booked.month in (11, 12, 1, 2) and dice.chance(0.35):
            booked -= timedelta(days=120)
        starts = (booked + timedelta(days=dice.below(20))).replace(hour=7, minute=0)
        days = dice.between(1, 14)
        due = starts + timedelta(days=days)
        # Low numbers come more often: regular customers.
        customer = 1 + int(customers * dice.random() ** 1.6)
        branch = 1 + int(8 * dice.random() ** 1.3)
        other = dice.between(1, 8)
        clerk = dice.pick(desks[branch - 1]) if dice.chance(0.9) else None
        if dice.chance(0.05):
            state = "cancelled"
        elif dice.chance(0.04):
            state = "no_show"
        elif starts > TODAY:
            state = "booked"
        elif due > TODAY or (due > TODAY - timedelta(days=60) and dice.chance(0.12)):
            state = "out"
        else:
            state = "returned"
        returned = iso(due + timedelta(hours=dice.between(-20, 30))) if state == "returned" else None
        returned_to = (other if dice.chance(0.12) else branch) if state == "returned" else None
        note = dice.pick(["Call before delivery", "Gate code at desk", "Bring ramps"]) if dice.chance(0.1) else None
        rentals.append((number, customer, branch, returned_to, clerk, state, iso(booked), iso(starts), iso(due), returned, note))
        taken = dice.sample(list(rentable), dice.pick([1, 1, 2, 2, 3, 4]))
        lines += [(number, unit, rentable[unit], days) for unit in taken]
        if state in ("returned", "out"):
            total = sum(rentable[unit] * days for unit in taken)
            parts = 2 if dice.chance(0.3) else 1
            for part in range(parts):
                amount = total // parts + (total % parts if part == 0 else 0)
                paid_state = "pending" if dice.chance(0.06) else "refunded" if dice.chance(0.02) else "settled"
                paid = None
                if paid_state != "pending":
                    paid = iso(starts + timedelta(days=dice.below(40), minutes=dice.below(600)))
                method = dice.pick(["card", "card", "cash", "transfer"])
                payments.append((len(payments) + 1, number, method, paid_state, amount, paid))
    # Five drafts that somebody started and never filled in, and one draft that has lines.
    for number in range(RENTAL_COUNT + 1, RENTAL_COUNT + 7):
        starts = TODAY + timedelta(days=number - RENTAL_COUNT, hours=7)
        booked, due = TODAY - timedelta(days=3, hours=number % 9), starts + timedelta(days=2)
        times = iso(booked), iso(starts), iso(due), None
        rentals.append((number, 40 + number % 7, 1 + number % 5, None, None, "draft", *times, None))
    lines += [(RENTAL_COUNT + 3, unit, rentable[unit], 2) for unit in list(rentable)[10:13]]
    insert(database, "rentals", rentals)
    insert(database, "rental_units", sorted(lines))
    insert(database, "payments", payments)


def add_workshop(database: sqlite3.Connection, dice: Dice, units: list[int], mechanics: list[int]) -> None:
    inspections, damages, repairs, used, stock = [], [], [], [], []
    for unit in units:
        at = datetime(2024, 1, 1, 8) + timedelta(days=dice.below(200))
        # One unit in twelve has never been inspected.
        while at < TODAY and not (unit % 12 == 5):
            verdict = dice.pick(["pass", "pass", "pass", "pass_with_notes", "fail"])
            notes = dice.pick(["worn seals", "loose guard", "slow start"]) if verdict != "pass" else None
            inspector = dice.pick(mechanics) if dice.chance(0.93) else None
            inspections.append((len(inspections) + 1, unit, inspector, iso(at), verdict, notes))
            at += timedelta(days=dice.between(60, 240), minutes=dice.below(500))
    # Identifiers do not follow time: paper reports were typed in later.
    inspections = [(n, *row[1:]) for n, row in enumerate(dice.sample(inspections, len(inspections)), start=1)]
    parts = []
    for number, title in enumerate(PARTS, start=1):
        parts.append((number, f"P-{300 + 11 * number}", title, dice.pick([None, *range(1, 7)]), dice.between(150, 18000)))
    query = """SELECT rental_id, unit_id, due_at FROM rental_units JOIN rentals ON id = rental_id
               WHERE state IN ('returned', 'out') ORDER BY rental_id, unit_id"""
    for rental, unit, due in database.execute(query).fetchall():
        if not dice.chance(0.045):
            continue
        number = len(damages) + 1
        reported = datetime.fromisoformat(due.rstrip("Z")) + timedelta(hours=dice.between(1, 50))
        severity = dice.pick(["minor", "minor", "minor", "major", "total"])
        settled = iso(reported + timedelta(days=dice.between(5, 90))) if dice.chance(0.8) else None
        cost = dice.between(2000, 250000) if dice.chance(0.85) else None
        damages.append((number, unit, rental if dice.chance(0.9) else None, iso(reported), severity, cost, settled))
        if severity != "total" and dice.chance(0.8):
            repair = len(repairs) + 1
            started = reported + timedelta(days=dice.below(12))
            finished = iso(started + timedelta(hours=dice.between(2, 200))) if dice.chance(0.93) else None
            repairs.append((repair, number, dice.pick(mechanics), iso(started), finished))
            used += [(repair, part[0], dice.between(1, 4)) for part in dice.sample(parts, dice.below(4))]
    for branch in range(1, 9):
        for part in parts:
            reorder = dice.between(2, 12)
            on_hand = dice.below(reorder) if dice.chance(0.07) else reorder + dice.below(30)
            stock.append((branch, part[0], on_hand, reorder))
    insert(database, "inspections", inspections)
    insert(database, "parts", parts)
    insert(database, "damages", damages)
    insert(database, "repairs", repairs)
    insert(database, "repair_parts", used)
    insert(database, "part_stock", stock)


def build(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path)
    database.executescript((HERE / "schema.sql").read_text(encoding="utf-8"))
    dice = Dice(16)
    employees = add_organization(database, dice)
    customers = add_customers(database, dice)
    rentable, units = add_fleet(database, dice)
    desks = [[row[0] for row in employees if row[2] == branch and row[4] in ("desk", "manager")] for branch in range(1, 9)]
    mechanics = [row[0] for row in employees if row[4] == "mechanic"]
    add_rentals(database, dice, customers, rentable, desks)
    add_workshop(database, dice, units, mechanics)
    out = "SELECT unit_id FROM rental_units JOIN rentals ON id = rental_id WHERE rentals.state = 'out'"
    database.execute(f"UPDATE units SET state = 'out' WHERE state = 'available' AND id IN ({out})")
    database.commit()
    dangling = database.execute("PRAGMA foreign_key_check").fetchall()
    assert not dangling, dangling[:3]
    return database


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: build.py FILE.db")
    path = Path(sys.argv[1])
    path.unlink(missing_ok=True)
    build(str(path)).close()


if __name__ == "__main__":
    main()
