WITH tables AS (
    SELECT c.oid, c.relname, c.relkind, c.relacl FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND n.nspname = ANY($1::text[]))
SELECT json_build_object('state', md5(string_agg(x.part, ',' ORDER BY x.part)))::text FROM (
    SELECT 'c' || t.oid || ' ' || t.relname || ' ' || t.relkind::text || coalesce(t.relacl::text, '') FROM tables t
    UNION ALL
    SELECT 'a' || a.attrelid || ' ' || a.attnum || ' ' || a.xmin FROM pg_attribute a
    JOIN tables t ON t.oid = a.attrelid WHERE a.attnum > 0
    UNION ALL
    SELECT 'k' || k.oid || ' ' || k.xmin FROM pg_constraint k JOIN tables t ON t.oid = k.conrelid
    UNION ALL
    SELECT 'd' || d.oid || ' ' || d.xmin FROM pg_attrdef d JOIN tables t ON t.oid = d.adrelid
    UNION ALL
    SELECT 'e' || e.oid || ' ' || e.xmin FROM pg_enum e) x (part)
