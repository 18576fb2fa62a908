// What the tour does on each source: which operation reads, which changes something, and what a mistake looks like.
// Nobody here wrote these sources; crates/aquifer/tests/browser/sources.rs sets them up.

/**
 * `name` and `place` are what people are shown of it. `words` find the operation `read`, whose form is filled with `form` (by label), which gives `params`; the answer contains `text`.
 * `mistake` is a call with a suggestion, and the call that it leads to. `changes` are calls of one operation: one is approved,
 * one denied and one tried by a person. If the source keeps what was changed, `kept` reads the subject of the first one.
 */
export const SOURCES = {
  /** The history of Chromium: its own SQLite database. */
  history: {
    name: 'history',
    place: /^sqlite:.*history\.db$/,
    words: 'urls title',
    read: 'list_urls',
    form: { 'Items per page': '2' },
    params: { first: 2 },
    text: 'North Cape',
    mistake: {
      operation: 'list_urls', params: { filter: { titel: 'North Cape' } },
      fix: 'Replace titel with title', corrected: { filter: { title: 'North Cape' } },
    },
    changes: { family: 'delete', operation: 'delete_url', params: [{ id: 1 }, { id: 2 }, { id: 3 }] },
    kept: { operation: 'get_url', params: { id: 1 }, text: 'North Cape' },
    table: 'urls',
  },
  /** The knowledge graph of an MCP server from npm. */
  memory: {
    name: 'memory',
    // Arguments may be secret, so only the program is shown.
    place: /node\b.* #[0-9a-f]+$/,
    words: 'search the knowledge graph',
    read: 'search_nodes',
    form: { query: 'cape' },
    params: { query: 'cape' },
    text: 'North Cape',
    mistake: {
      operation: 'search_nodes', params: { qurey: 'cape' },
      fix: 'Replace qurey with query', corrected: { query: 'cape' },
    },
    changes: {
      family: 'delete', operation: 'delete_entities',
      params: [{ entity_names: ['North Cape'] }, { entity_names: ['Land\'s End'] }, { entity_names: ['Finisterre'] }],
    },
    kept: { operation: 'open_nodes', params: { names: ['North Cape'] }, text: 'North Cape' },
  },
  /** An HTTP API, mocked from its description. */
  galaxy: {
    name: 'galaxy',
    // Where the mock is, and not what the description says.
    place: /^http:\/\/127\.0\.0\.1:/,
    words: 'all planets',
    read: 'get_all_data',
    form: { first: '1' },
    params: { first: 1 },
    text: 'The red planet',
    mistake: {
      operation: 'get_planet', params: { planetid: 1 },
      fix: 'Replace planetid with planet_id', corrected: { planet_id: 1 },
    },
    changes: { family: 'delete', operation: 'delete_planet', params: [{ planet_id: 1 }, { planet_id: 2 }, { planet_id: 3 }] },
  },
};
