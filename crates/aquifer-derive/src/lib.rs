//! The macros of `aquifer-adapter`. They only generate code that could be written by hand with the types of that crate.

mod arguments;
mod etag;
mod method;
mod problems;

use proc_macro::TokenStream;
use quote::quote;
use syn::{ImplItem, ItemImpl, LitStr, Type, parse_macro_input};

use method::Method;
use problems::Problems;

/// Turns the methods of an `impl` block that are marked with `#[operation]` into the operations of an adapter.
///
/// ```text
/// #[adapter]
/// impl Board {
///     /// Get one task.
///     #[operation]
///     async fn get_task(
///         &self,
///         /// The task's number.
///         id: u64,
///     ) -> Answer<Task> { … }
/// }
/// ```
///
/// The adapter is named after the type, in snake_case, unless `#[adapter(name = "…")]` sets another name. The doc comment of a
/// method is the description of its operation. `#[operation]` takes these arguments:
///
/// - `category = Read`: the category. Without it, the verb at the start of the name decides (create; get, list, search,
///   query, count; update; delete; execute, cancel).
/// - `danger = Destructive`: the danger level, if it is not that of the category.
/// - `confirm`, or `confirm = "Really erase {id}?"`: a person has to confirm every call.
/// - `idempotent`: repeating a call changes nothing more.
/// - `long_running`: the operation runs in the background.
/// - `discovery`: the operation describes what exists.
/// - `returns = "…"`: the description of the result.
/// - `example("what it does", { "id": 1 })`: an example request. Can be repeated.
#[proc_macro_attribute]
pub fn adapter(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let block = parse_macro_input!(item as ItemImpl);
    let mut problems = Problems::default();
    let name = problems.take(syn::parse(arguments)).unwrap_or_default();
    expand(&name, block, problems).into()
}

/// Derives the version of a resource: a digest of all its fields, or of the one marked with `#[etag]`.
#[proc_macro_derive(Etag, attributes(etag))]
pub fn derive_etag(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as syn::DeriveInput);
    etag::expand(&item).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// `name = "…"`, or nothing.
#[derive(Default)]
struct AdapterName(Option<LitStr>);

impl syn::parse::Parse for AdapterName {
    fn parse(input: syn::parse::ParseStream<'_>) -> syn::Result<Self> {
        if input.is_empty() {
            return Ok(Self(None));
        }
        let argument: syn::Ident = input.parse()?;
        if argument != "name" {
            return Err(syn::Error::new(argument.span(), "unknown argument: the only one is name = \"…\""));
        }
        input.parse::<syn::Token![=]>()?;
        Ok(Self(Some(input.parse()?)))
    }
}

fn expand(name: &AdapterName, mut block: ItemImpl, mut problems: Problems) -> proc_macro2::TokenStream {
    let mut methods = Vec::new();
    for item in &mut block.items {
        if let ImplItem::Fn(function) = item {
            methods.extend(Method::read(function, &mut problems));
        }
    }
    if methods.is_empty() && problems.is_empty() {
        problems.add(&block.self_ty, "no method is an operation: mark one with #[operation]");
    }
    let self_type = &block.self_ty;
    let name = match &name.0 {
        Some(name) => name.value(),
        None => snake_case(&type_name(self_type)),
    };
    // The implementation is generated even with errors; otherwise further errors about the missing impl would follow.
    let definitions = methods.iter().map(Method::definition);
    let (generics, _, where_clause) = block.generics.split_for_impl();
    let errors = problems.into_compile_errors();
    quote! {
        #block

        #errors

        impl #generics ::aquifer_adapter::IntoAdapter for #self_type #where_clause {
            type State = Self;

            fn into_adapter(self) -> ::aquifer_adapter::Adapter<Self> {
                #[allow(unused_imports)]
                use ::aquifer_adapter::macros::{EtagAnswerKind, ExtractorKind, ParameterKind, PlainAnswerKind};
                let __adapter = ::aquifer_adapter::Adapter::new(#name, self);
                #(#definitions)*
                __adapter
            }
        }
    }
}

fn type_name(self_type: &Type) -> String {
    match self_type {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default(),
        _ => "adapter".to_owned(),
    }
}

fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(character.to_lowercase());
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The error messages for an invalid definition, in order.
    fn messages(block: ItemImpl) -> Vec<String> {
        let expanded: syn::File = syn::parse2(expand(&AdapterName::default(), block, Problems::default())).unwrap();
        let errors = expanded.items.iter().filter_map(|item| match item {
            syn::Item::Macro(item) if item.mac.path.segments.last()?.ident == "compile_error" => {
                Some(item.mac.parse_body::<LitStr>().unwrap().value())
            }
            _ => None,
        });
        errors.collect()
    }

    #[test]
    fn a_correct_definition_has_no_errors() {
        let messages = messages(syn::parse_quote! {
            impl Board {
                /// Get one task.
                #[operation(danger = Safe, confirm = "Really?", idempotent, example("One", { "id": 1 }), example("Two", {}))]
                async fn get_task(&self, id: u64) -> Answer<Task> {}
                /// Undocumented and unmarked methods may have any form.
                fn helper<T>(self, _: T) {}
            }
        });
        assert_eq!(messages, [""; 0]);
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let messages = messages(syn::parse_quote! {
            impl Board {
                #[operation(categroy = Read, danger = Harmless, idempotent, idempotent)]
                fn fetch_task(id: u64) {}
                /// Get one task.
                #[operation(long_running)]
                async fn get_task<T>(&self, (a, b): (u8, u8)) -> Answer<Task> {}
                /// Get another.
                #[operation = "get"]
                async fn get_other(&mut self) -> Answer<Task> {}
            }
        });
        let expected = [
            "unknown argument: the arguments are category,",
            "unknown value: it is one of Safe, Reversible,",
            "this argument is given twice",
            "an operation must be an async fn",
            "an operation must take &self first",
            "an operation needs a doc comment",
            "the verb 'fetch' does not imply a category",
            "an operation must return an Answer<T>",
            "an operation cannot be generic",
            "a long-running operation must be an EXECUTE",
            "a parameter of an operation needs a plain name",
            "write #[operation] or #[operation(…)]",
            "an operation must take &self first",
        ];
        assert_eq!(messages.len(), expected.len(), "{messages:#?}");
        for (message, expected) in messages.iter().zip(expected) {
            assert!(message.starts_with(expected), "{message:?} is not {expected:?}");
        }
    }

    #[test]
    fn names_that_are_no_parameters_are_reported() {
        let messages = messages(syn::parse_quote! {
            impl Board {
                /// Delete a task.
                #[operation(confirm = "Delete {title} of {id}? {}", example("One", { "id": 1, "force": { "a": 2 } }))]
                async fn delete_task(&self, #[doc = "Its number."] id: u64) -> Answer<Task> {}
                /// The extractor may add parameters, and the other is renamed.
                #[operation(confirm = "{tenant}", example("One", { "tenant": 1 }))]
                async fn delete_all(&self, tenant_of: Tenant) -> Answer<Task> {}
                /// Renamed.
                #[operation(confirm = "{kind}", example("One", { "kind": 1 }))]
                async fn delete_kind(&self, #[doc = "Kind."] #[serde(rename = "kind")] r#type: u64) -> Answer<Task> {}
            }
        });
        assert_eq!(
            messages,
            [
                "the placeholder 'title' is not a parameter of this operation",
                "'force' is not a parameter of this operation"
            ]
        );
    }

    #[test]
    fn a_block_without_operations_is_refused() {
        let messages = messages(syn::parse_quote! {
            impl Board {
                /// Get one task.
                async fn get_task(&self, id: u64) -> Answer<Task> {}
            }
        });
        assert_eq!(messages, ["no method is an operation: mark one with #[operation]"]);
    }

    #[test]
    fn the_adapter_is_named_after_its_type() {
        assert_eq!(snake_case(&type_name(&syn::parse_quote!(shop::GuestBook<T>))), "guest_book");
    }
}
