//! The arguments of `#[operation(…)]`.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Ident, LitStr, Meta, Token, braced, parenthesized};

use crate::problems::Problems;

const KNOWN: &str = "category, danger, confirm, idempotent, long_running, discovery, returns and example";
const CATEGORIES: &[&str] = &["Create", "Read", "Update", "Delete", "Execute"];
const DANGERS: &[&str] = &["Safe", "Reversible", "Destructive", "Dangerous", "Forbidden"];

/// The parsed arguments.
#[derive(Default)]
pub(crate) struct OperationArguments {
    pub(crate) category: Option<Ident>,
    pub(crate) long_running: Option<Ident>,
    /// The message of the confirmation.
    pub(crate) confirm_message: Option<LitStr>,
    /// The names of the members of examples.
    pub(crate) example_members: Vec<LitStr>,
    /// Method calls on the adapter builder that describe the operation.
    pub(crate) modifiers: Vec<TokenStream>,
}

impl OperationArguments {
    pub(crate) fn read(attribute: &Attribute, problems: &mut Problems) -> Self {
        match &attribute.meta {
            Meta::Path(_) => Self::default(),
            Meta::List(list) => {
                let parse = |input: ParseStream<'_>| Self::parse(input, problems);
                match syn::parse::Parser::parse2(parse, list.tokens.clone()) {
                    Ok(arguments) => arguments,
                    Err(error) => {
                        problems.push(error);
                        Self::default()
                    }
                }
            }
            Meta::NameValue(value) => {
                problems.add(value, "write #[operation] or #[operation(…)]");
                Self::default()
            }
        }
    }

    fn parse(input: ParseStream<'_>, problems: &mut Problems) -> syn::Result<Self> {
        let mut arguments = Self::default();
        let mut given: Vec<Ident> = Vec::new();
        while !input.is_empty() {
            let name = Ident::parse(input)?;
            if name != "example" && given.contains(&name) {
                problems.add(&name, "this argument is given twice");
            }
            arguments.parse_one(&name, input, problems)?;
            given.push(name);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(arguments)
    }

    fn parse_one(&mut self, name: &Ident, input: ParseStream<'_>, problems: &mut Problems) -> syn::Result<()> {
        match name.to_string().as_str() {
            "category" => self.category = one_of(input, CATEGORIES, problems)?,
            "danger" => {
                let danger = one_of(input, DANGERS, problems)?;
                self.modifiers.extend(danger.map(|danger| quote!(.danger(::aquifer_adapter::Danger::#danger))));
            }
            "confirm" if input.peek(Token![=]) => {
                let message = text(input)?;
                self.modifiers.push(quote!(.confirm_message(#message)));
                self.confirm_message = Some(message);
            }
            "confirm" => self.modifiers.push(quote!(.confirm())),
            "idempotent" => self.modifiers.push(quote!(.idempotent())),
            "discovery" => self.modifiers.push(quote!(.discovery())),
            "long_running" => self.long_running = Some(name.clone()),
            "returns" => {
                let description = text(input)?;
                self.modifiers.push(quote!(.returns(#description)));
            }
            "example" => {
                let content;
                parenthesized!(content in input);
                let description: LitStr = content.parse()?;
                content.parse::<Token![,]>()?;
                let params;
                braced!(params in content);
                let params: TokenStream = params.parse()?;
                self.example_members.extend(member_names(&params));
                self.modifiers.push(quote!(.example(#description, ::aquifer_adapter::macros::json!({ #params }))));
            }
            _ => {
                problems.add(name, &format!("unknown argument: the arguments are {KNOWN}"));
                skip_value(input)?;
            }
        }
        Ok(())
    }
}

/// The names of the members of an object as `json!` reads it.
fn member_names(members: &TokenStream) -> Vec<LitStr> {
    let is_punct =
        |token: Option<&TokenTree>, wanted| matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted);
    let tokens: Vec<TokenTree> = members.clone().into_iter().collect();
    let starts = (0..tokens.len()).filter(|at| *at == 0 || is_punct(tokens.get(at - 1), ','));
    let names = starts.filter(|at| is_punct(tokens.get(at + 1), ':')).filter_map(|at| tokens.get(at));
    names.filter_map(|name| syn::parse2(name.clone().into()).ok()).collect()
}

/// Skips the rest of an argument, up to its comma.
fn skip_value(input: ParseStream<'_>) -> syn::Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<proc_macro2::TokenTree>()?;
    }
    Ok(())
}

fn text(input: ParseStream<'_>) -> syn::Result<LitStr> {
    input.parse::<Token![=]>()?;
    input.parse()
}

fn one_of(input: ParseStream<'_>, known: &[&str], problems: &mut Problems) -> syn::Result<Option<Ident>> {
    input.parse::<Token![=]>()?;
    let value = Ident::parse(input)?;
    if known.contains(&value.to_string().as_str()) {
        return Ok(Some(value));
    }
    problems.add(&value, &format!("unknown value: it is one of {}", known.join(", ")));
    Ok(None)
}
