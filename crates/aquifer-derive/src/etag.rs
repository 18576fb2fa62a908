//! `#[derive(Etag)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Field, Fields};

pub(crate) fn expand(item: &DeriveInput) -> syn::Result<TokenStream> {
    let fields = match &item.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => &fields.named,
            other => return Err(syn::Error::new_spanned(other, "a version needs a struct with named fields")),
        },
        _ => return Err(syn::Error::new_spanned(&item.ident, "a version needs a struct with named fields")),
    };
    let is_marked = |field: &&Field| field.attrs.iter().any(|attribute| attribute.path().is_ident("etag"));
    let marked: Vec<&Field> = fields.iter().filter(is_marked).collect();
    let version = match marked.as_slice() {
        [] => quote!(self),
        [only] => {
            let name = &only.ident;
            quote!(&self.#name)
        }
        [_, second, ..] => return Err(syn::Error::new_spanned(second, "only one field can be the version")),
    };
    let (name, (generics, type_generics, where_clause)) = (&item.ident, item.generics.split_for_impl());
    Ok(quote! {
        impl #generics ::aquifer_adapter::Etag for #name #type_generics #where_clause {
            fn etag(&self) -> ::aquifer_adapter::Answer<::std::string::String> {
                ::aquifer_adapter::macros::version(#version)
            }
        }
    })
}
