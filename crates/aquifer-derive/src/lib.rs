//! `#[adapter]`: an `impl` block as the definition of an adapter.
//!
//! Every documented async method is an operation. Its parameters become the fields of a struct of the same name in
//! PascalCase, with their doc comments and their `serde` and `schemars` attributes. Everything else is done by
//! `aquifer_engine::adapter`, which knows nothing of this macro: it only writes what one could write by hand.

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
/// `#[category(Read)]` where the verb is another one. `#[example("what it does", { "id": 1 })]` shows a request.
/// A parameter of type `DryRun` may always be left out. A parameter of type `Reporter` is not the caller's: it makes
/// the operation long-running and tells its progress. A parameter of type `Ctx<Self>` is the call itself.
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
    let (generics, _, wheres) = block.generics.split_for_impl();
    let of = &block.self_ty;
    Ok(quote! {
        #(#structs)*

        #block

        impl #generics #of #wheres {
            /// The adapter of this name, to be changed further or built.
            pub fn into_adapter(self, name: &str) -> ::aquifer_engine::adapter::Adapter<Self> {
                use ::aquifer_engine::adapter::{Adapter, Ctx, macros::Category};
                Adapter::new(name, self) #(#registrations)*
            }
        }
    })
}
