//! What a parameter is for, as far as its name tells. It decides where a person sees the value: where something goes
//! first, then amounts and the thing that a call is about, long texts last.
//!
//! A role never hides a value from a person. Where a call runs without a question, what is no recipient and no text has to be
//! known as well.

use aquifer_protocol::case::snake_case;

/// What a parameter is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ParameterRole {
    /// Where something goes: recipients, addresses, accounts, channels, links.
    Destination,
    /// How much is paid, and from where.
    Amount,
    /// What somebody may do.
    Permission,
    /// The thing that a call is about: an id, a name, a path, a subject, a date.
    Thing,
    /// Anything else.
    Other,
    /// A text of any length.
    Body,
}

/// Names of parameters by role. A name counts as a whole and as the last words of a longer one: `new_recipient`.
const NAMES: &[(ParameterRole, &str)] = &[
    (
        ParameterRole::Destination,
        "recipient recipients cc bcc attendee attendees participant participants invitee invitees guests email emails phone \
         phones phone_number phone_numbers address addresses url urls uri webhook callback endpoint domain host hostname link \
         links website channel channels chat_id iban account_number payee beneficiary grantee",
    ),
    (ParameterRole::Amount, "amount amounts total price sum currency amount_cents payment_method"),
    (ParameterRole::Permission, "permission permissions role roles access_level scope scopes"),
    (
        ParameterRole::Thing,
        "attachment attachments date day time deadline id ids uuid key name title subject path filename file slug username user users repo repository table branch",
    ),
    (
        ParameterRole::Body,
        "body content contents text message html markdown description note notes comment comments details summary template",
    ),
];

/// Names that count only as a whole. As the end of a longer name they mean something else: `valid_to`.
const WHOLE: &[(ParameterRole, &str)] = &[
    (
        ParameterRole::Destination,
        "to send_to reply_to share_with shared_with to_account destination destination_account target_account",
    ),
    (ParameterRole::Amount, "account account_id card card_id wallet wallet_id from_account source_account sender from"),
];

impl ParameterRole {
    /// The role of a parameter with this name.
    pub(crate) fn from_name(name: &str) -> Self {
        let name = snake_case(name);
        let is_listed = |list: &str, name: &str| list.split_ascii_whitespace().any(|known| known == name);
        let whole = WHOLE.iter().find(|(_, list)| is_listed(list, &name)).map(|(role, _)| *role);
        let by_end = |end: &str| NAMES.iter().find(|(_, list)| is_listed(list, end)).map(|(role, _)| *role);
        // The longest end first: `phone_number` before `number`.
        let starts = std::iter::once(0).chain(name.match_indices('_').map(|(index, _)| index + 1));
        let mut ends = starts.filter_map(|start| name.get(start..));
        whole.or_else(|| ends.find_map(by_end)).unwrap_or(ParameterRole::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::ParameterRole::{Amount, Body, Destination, Other, Permission, Thing};
    use super::*;

    #[test]
    fn r_saf_9_names_tell_what_a_parameter_is_for() {
        for (name, expected) in [
            ("recipient", Destination),
            ("newRecipient", Destination),
            ("to", Destination),
            ("bcc", Destination),
            ("user_email", Destination),
            ("callback_url", Destination),
            ("valid_to", Other),
            ("amount", Amount),
            ("transfer_amount", Amount),
            ("from_account", Amount),
            ("role", Permission),
            ("file_id", Thing),
            ("subject", Thing),
            ("start_time", Thing),
            ("duration", Other),
            ("body", Body),
            ("html_body", Body),
            ("", Other),
            ("_", Other),
        ] {
            assert_eq!(ParameterRole::from_name(name), expected, "{name}");
        }
    }
}
