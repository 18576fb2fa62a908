//! Queries that follow references: parcels of customers in cities. The results have the format of our answers, so that
//! both can be compared.

use serde::Serialize;

use super::PageStart;

/// Number of rows per page.
pub(crate) const PATH_PAGE: usize = 50;

/// A query that follows references.
#[derive(Debug, Clone)]
pub(crate) enum PathQuery {
    /// The parcels of one city, latest first, with the names of their customers and cities.
    LatestOfCity(Option<PageStart>),
    /// The parcels of one country, sorted by the names of their cities.
    ByCity(Option<PageStart>),
    /// The number and weight of parcels per country.
    CountryGroups,
    /// The number and weight of parcels sent per month.
    MonthGroups,
    /// Customers, each with five parcels.
    Embedded,
    /// Customers who sent a heavy parcel.
    Some,
}

/// The city whose parcels are listed.
pub(crate) const CITY: &str = "City 0500";
/// The country whose parcels are listed.
pub(crate) const COUNTRY: &str = "Country 07";
/// Heavy parcels weigh more than this.
pub(crate) const HEAVY: i64 = 30_000;

/// The statements for both databases.
pub(super) mod sql {
    /// The columns of [`Parcel`](super::Parcel).
    macro_rules! parcels {
        ($rest:literal) => {
            concat!(
                "SELECT p.id, p.weight, p.sent_at, c.name, x.name FROM parcels AS p \
                 JOIN customers AS c ON c.id = p.customer_id JOIN cities AS x ON x.id = c.city_id ",
                $rest
            )
        };
    }
    pub(crate) const LATEST_OF_CITY: &str = parcels!("WHERE x.name = $1 ORDER BY p.sent_at DESC, p.id DESC LIMIT 51");
    pub(crate) const LATEST_OF_CITY_AFTER: &str =
        parcels!("WHERE x.name = $1 AND (p.sent_at, p.id) < ($2, $3) ORDER BY p.sent_at DESC, p.id DESC LIMIT 51");
    pub(crate) const BY_CITY: &str = parcels!("WHERE x.country = $1 ORDER BY x.name, p.id LIMIT 51");
    pub(crate) const BY_CITY_AFTER: &str =
        parcels!("WHERE x.country = $1 AND x.name >= $2 AND (x.name, p.id) > ($2, $3) ORDER BY x.name, p.id LIMIT 51");
    pub(crate) const COUNTRY_GROUPS: &str = "\
        SELECT x.country, count(*), sum(p.weight) FROM parcels AS p \
        LEFT JOIN customers AS c ON c.id = p.customer_id LEFT JOIN cities AS x ON x.id = c.city_id \
        GROUP BY x.country ORDER BY x.country NULLS LAST";
    pub(crate) const SOME: &str = "\
        SELECT c.id, c.name FROM customers AS c \
        WHERE EXISTS (SELECT 1 FROM parcels AS p WHERE p.customer_id = c.id AND p.weight > $1) ORDER BY c.id LIMIT 51";
}

/// A parcel with the names of its customer and of its city.
#[derive(Serialize)]
pub(super) struct Parcel<T> {
    pub(super) id: i64,
    pub(super) weight: i64,
    pub(super) sent_at: T,
    pub(super) customer: CustomerOfParcel,
}

#[derive(Serialize)]
pub(super) struct CustomerOfParcel {
    pub(super) name: String,
    pub(super) city: CityOfCustomer,
}

#[derive(Serialize)]
pub(super) struct CityOfCustomer {
    pub(super) name: String,
}

impl<T> Parcel<T> {
    pub(super) fn new(id: i64, weight: i64, sent_at: T, customer: String, city: String) -> Self {
        Self { id, weight, sent_at, customer: CustomerOfParcel { name: customer, city: CityOfCustomer { name: city } } }
    }
}

/// A customer, optionally with parcels.
#[derive(Serialize)]
pub(super) struct Customer {
    pub(super) id: i64,
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parcels: Option<Vec<EmbeddedParcel>>,
}

/// A parcel of a customer.
#[derive(Serialize)]
pub(super) struct EmbeddedParcel {
    pub(super) id: i64,
    pub(super) weight: i64,
}

/// A page of rows.
#[derive(Serialize)]
struct PathPage<T> {
    items: Vec<T>,
    has_next_page: bool,
}

/// Writes the page as JSON. `rows` has one extra row if there are more.
pub(super) fn write_page<T: Serialize>(mut rows: Vec<T>) -> anyhow::Result<String> {
    let has_next_page = rows.len() > PATH_PAGE;
    rows.truncate(PATH_PAGE);
    Ok(serde_json::to_string(&PathPage { items: rows, has_next_page })?)
}

/// The aggregates of a group.
#[derive(Serialize)]
struct GroupTotals {
    count: i64,
    sum: i64,
}

/// Writes the groups as a JSON object with one member each.
pub(super) fn write_groups(groups: Vec<(Option<String>, i64, i64)>) -> anyhow::Result<String> {
    struct Groups(Vec<(Option<String>, i64, i64)>);
    impl Serialize for Groups {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let member = |(name, count, sum): &(Option<String>, i64, i64)| {
                (name.clone().unwrap_or_else(|| "null".to_owned()), GroupTotals { count: *count, sum: *sum })
            };
            serializer.collect_map(self.0.iter().map(member))
        }
    }
    Ok(serde_json::to_string(&Groups(groups))?)
}
