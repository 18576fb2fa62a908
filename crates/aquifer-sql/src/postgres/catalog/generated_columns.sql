SELECT json_build_object('schema', n.nspname, 'table', c.relname, 'from', s.attname, 'to', a.attname)::text
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
JOIN pg_depend p ON p.refclassid = 'pg_class'::regclass AND p.refobjid = c.oid
    AND p.refobjsubid > 0 AND p.refobjsubid <> a.attnum
    AND (p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid
         OR p.classid = 'pg_class'::regclass AND p.objid = c.oid AND p.objsubid = a.attnum)
JOIN pg_attribute s ON s.attrelid = c.oid AND s.attnum = p.refobjsubid
WHERE a.attgenerated <> '' AND n.nspname <> ALL($1::text[])
