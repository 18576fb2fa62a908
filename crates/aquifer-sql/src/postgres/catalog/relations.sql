SELECT json_build_object('id', c.oid::int8, 'schema', n.nspname, 'name', c.relname, 'kind', c.relkind,
    'comment', obj_description(c.oid, 'pg_class'), 'select', has_table_privilege(c.oid, 'SELECT'),
    'opaque_keys', (SELECT json_agg(json_build_object('name', x.relname, 'columns', (
            SELECT json_agg(DISTINCT a.attname) FROM pg_depend d JOIN pg_attribute a ON a.attrelid = c.oid
                AND a.attnum > 0 AND (a.attnum = d.refobjsubid OR d.refobjsubid = 0 AND d.deptype = 'n')
            WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid
                AND (d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
                     OR d.classid = 'pg_constraint'::regclass AND d.objid IN (
                         SELECT k.oid FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.conrelid = c.oid)))))
        FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid WHERE i.indrelid = c.oid AND (i.indisexclusion
            OR i.indisunique AND (i.indpred IS NOT NULL OR i.indexprs IS NOT NULL))),
    'change_rules', (SELECT json_agg(json_build_object('name', x.name, 'text', x.text)) FROM (
        SELECT t.tgname, concat_ws(' ', pg_get_triggerdef(t.oid), p.prosrc)
        FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
        WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgenabled <> 'D'
        UNION ALL
        SELECT p.polname, concat_ws(' ', pg_get_expr(p.polqual, c.oid), pg_get_expr(p.polwithcheck, c.oid))
        FROM pg_policy p WHERE p.polrelid = c.oid AND c.relrowsecurity AND p.polcmd <> 'r') x (name, text)),
    'hashes', current_setting('server_version_num')::int >= 140000,
    'insert', has_table_privilege(c.oid, 'INSERT') OR has_any_column_privilege(c.oid, 'INSERT'),
    'update', has_table_privilege(c.oid, 'UPDATE') OR has_any_column_privilege(c.oid, 'UPDATE'),
    'delete', has_table_privilege(c.oid, 'DELETE'),
    'inherits', (WITH RECURSIVE above AS (
            SELECT i.inhparent FROM pg_inherits i WHERE i.inhrelid = c.oid
            UNION SELECT i.inhparent FROM above a JOIN pg_inherits i ON i.inhrelid = a.inhparent)
        SELECT json_agg(json_build_object('schema', pn.nspname, 'name', p.relname))
        FROM above a JOIN pg_class p ON p.oid = a.inhparent JOIN pg_namespace pn ON pn.oid = p.relnamespace))::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = ANY($1::text[]) AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    AND has_schema_privilege(n.oid, 'USAGE')
    AND (has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'))
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
ORDER BY n.nspname, c.relname
