-- A company that rents out building machines from eight branches. Prices are in cents, times are ISO 8601 text in UTC.

CREATE TABLE branches (
    id INTEGER PRIMARY KEY,
    code TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    city TEXT NOT NULL,
    opened_on TEXT NOT NULL,
    manager_id INTEGER REFERENCES employees (id)
);
CREATE TABLE employees (
    id INTEGER PRIMARY KEY,
    full_name TEXT NOT NULL,
    branch_id INTEGER NOT NULL REFERENCES branches (id),
    supervisor_id INTEGER REFERENCES employees (id),
    role TEXT NOT NULL CHECK (role IN ('manager', 'desk', 'mechanic', 'driver')),
    hired_on TEXT NOT NULL,
    left_on TEXT
);
CREATE TABLE customers (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('person', 'company')),
    name TEXT NOT NULL,
    email TEXT UNIQUE,
    city TEXT,
    referred_by INTEGER REFERENCES customers (id),
    created_at TEXT NOT NULL
);
CREATE TABLE suppliers (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    country TEXT NOT NULL,
    phone TEXT
);
CREATE TABLE categories (
    id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    parent_id INTEGER REFERENCES categories (id)
);
CREATE TABLE models (
    id INTEGER PRIMARY KEY,
    category_id INTEGER NOT NULL REFERENCES categories (id),
    supplier_id INTEGER REFERENCES suppliers (id),
    name TEXT NOT NULL UNIQUE,
    daily_cents INTEGER NOT NULL,
    deposit_cents INTEGER NOT NULL DEFAULT 0,
    weight_kg REAL
);
CREATE TABLE units (
    id INTEGER PRIMARY KEY,
    model_id INTEGER NOT NULL REFERENCES models (id),
    home_branch_id INTEGER NOT NULL REFERENCES branches (id),
    serial TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('available', 'out', 'workshop', 'retired')),
    purchased_on TEXT NOT NULL,
    purchase_cents INTEGER NOT NULL,
    hours_run REAL,
    specs TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(specs))
);
CREATE TABLE rentals (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers (id),
    pickup_branch_id INTEGER NOT NULL REFERENCES branches (id),
    return_branch_id INTEGER REFERENCES branches (id),
    handled_by INTEGER REFERENCES employees (id),
    state TEXT NOT NULL DEFAULT 'booked' CHECK (state IN ('draft', 'booked', 'out', 'returned', 'cancelled', 'no_show')),
    booked_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
    starts_at TEXT NOT NULL,
    due_at TEXT NOT NULL,
    returned_at TEXT,
    note TEXT
);
CREATE TABLE rental_units (
    rental_id INTEGER NOT NULL REFERENCES rentals (id),
    unit_id INTEGER NOT NULL REFERENCES units (id),
    daily_cents INTEGER NOT NULL,
    days INTEGER NOT NULL CHECK (days > 0),
    PRIMARY KEY (rental_id, unit_id)
) WITHOUT ROWID;
CREATE TABLE payments (
    id INTEGER PRIMARY KEY,
    rental_id INTEGER NOT NULL REFERENCES rentals (id),
    method TEXT NOT NULL CHECK (method IN ('card', 'cash', 'transfer')),
    state TEXT NOT NULL CHECK (state IN ('pending', 'settled', 'refunded')),
    amount_cents INTEGER NOT NULL,
    paid_at TEXT
);
CREATE TABLE inspections (
    id INTEGER PRIMARY KEY,
    unit_id INTEGER NOT NULL REFERENCES units (id),
    inspector_id INTEGER REFERENCES employees (id),
    inspected_at TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('pass', 'pass_with_notes', 'fail')),
    notes TEXT
);
CREATE TABLE damages (
    id INTEGER PRIMARY KEY,
    unit_id INTEGER NOT NULL REFERENCES units (id),
    rental_id INTEGER REFERENCES rentals (id),
    reported_at TEXT NOT NULL,
    severity TEXT NOT NULL CHECK (severity IN ('minor', 'major', 'total')),
    repair_cents INTEGER,
    settled_at TEXT
);
CREATE TABLE repairs (
    id INTEGER PRIMARY KEY,
    damage_id INTEGER NOT NULL REFERENCES damages (id),
    mechanic_id INTEGER NOT NULL REFERENCES employees (id),
    started_at TEXT NOT NULL,
    finished_at TEXT
);
CREATE TABLE parts (
    id INTEGER PRIMARY KEY,
    sku TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    supplier_id INTEGER REFERENCES suppliers (id),
    unit_cents INTEGER NOT NULL
);
CREATE TABLE part_stock (
    branch_id INTEGER NOT NULL REFERENCES branches (id),
    part_id INTEGER NOT NULL REFERENCES parts (id),
    on_hand INTEGER NOT NULL CHECK (on_hand >= 0),
    reorder_at INTEGER NOT NULL,
    PRIMARY KEY (branch_id, part_id)
);
CREATE TABLE repair_parts (
    repair_id INTEGER NOT NULL REFERENCES repairs (id),
    part_id INTEGER NOT NULL REFERENCES parts (id),
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    PRIMARY KEY (repair_id, part_id)
);
CREATE VIEW overdue_rentals AS
    SELECT id, customer_id, pickup_branch_id, handled_by, due_at
    FROM rentals
    WHERE state = 'out' AND returned_at IS NULL AND due_at < '2026-09-24T00:00:00Z';

CREATE INDEX rentals_customer ON rentals (customer_id);
CREATE INDEX rental_units_unit ON rental_units (unit_id);
CREATE INDEX payments_rental ON payments (rental_id);
CREATE INDEX inspections_unit ON inspections (unit_id);
