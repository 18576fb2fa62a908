//! `#[adapter]`: an `impl` block as the definition of an adapter.
//!
//! Every documented async method is an operation. Its parameters become the fields of a struct of the same name in
//! PascalCase, with their doc comments and their `serde` and `schemars` attributes. `aquifer_engine::adapter` does the rest
//! and does not depend on this macro: the macro only generates code that could be written by hand.

mod method;

use proc_macro::TokenStream;
use quote::quote;
use syn::{ImplItem, ItemImpl, parse_macro_input};

use method::Method;

/// Turns an `impl` block into an adapter, and adds `fn into_adapter(self, name)` to it.
///
/// ```text
/// #[adapter]
/// impl Board {
///     /// Get one task.
///     async fn get_task(
///         &self,
///         /// The task's number.
///         id: u64,
///     ) -> Result<Task, Failure> { … }
/// }
///
/// let source = Board::default().into_adapter("board").build()?;
/// ```
///
/// The category comes from the verb (create; get, list, search, query, count; update; delete; execute, cancel), or from
/// `#[category(Read)]` for any other verb. `#[example("what it does", { "id": 1 })]` adds an example request.
/// A parameter of type `DryRun` is always optional. A parameter of type `Reporter` is not visible to callers: it makes
/// the operation long-running and reports its progress. A parameter of type `Ctx<Self>` receives the context of the call.
#[proc_macro_attribute]
pub fn adapter(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    let block = parse_macro_input!(item as ItemImpl);
    expand(block).unwrap_or_else(|error| error.to_compile_error()).into()
}

fn expand(mut block: ItemImpl) -> syn::Result<proc_macro2::TokenStream> {
    let mut methods = Vec::new();
    for item in &mut block.items {
        if let ImplItem::Fn(function) = item
            && let Some(method) = Method::read(function)?
        {
            methods.push(method);
        }
    }
    let structs = methods.iter().map(Method::parameters);
    let registrations = methods.iter().map(Method::registration);
    let (generics, _, where_clause) = block.generics.split_for_impl();
    let self_type = &block.self_ty;
    Ok(quote! {
        #(#structs)*

        #block

        impl #generics #self_type #where_clause {
            /// The adapter of this name, to be changed further or built.
            pub fn into_adapter(self, name: &str) -> ::aquifer_engine::adapter::Adapter<Self> {
                use ::aquifer_engine::adapter::{Adapter, Ctx, macros::Category};
                Adapter::new(name, self) #(#registrations)*
            }
        }
    })
}
