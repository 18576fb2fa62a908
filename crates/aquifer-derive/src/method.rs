//! One method of an adapter: how it is read, and the code generated for it.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::spanned::Spanned;
use syn::{Attribute, FnArg, Ident, ImplItemFn, Pat, PatType, Token, Type};

/// An operation, read from a method.
pub(crate) struct Method {
    name: Ident,
    docs: Vec<Attribute>,
    category: Ident,
    fields: Vec<PatType>,
    /// The arguments of the method, in order.
    arguments: Vec<Argument>,
    examples: Vec<TokenStream>,
}

enum Argument {
    Parameter(Ident),
    Reporter,
    Context,
}

/// The category that a verb implies.
const VERBS: &[(&str, &[&str])] = &[
    ("Create", &["create"]),
    ("Read", &["get", "list", "search", "query", "count"]),
    ("Update", &["update"]),
    ("Delete", &["delete"]),
    ("Execute", &["execute", "cancel"]),
];

impl Method {
    /// Reads a method and removes the attributes of this macro from it. `None` if it is not an operation.
    pub(crate) fn read(function: &mut ImplItemFn) -> syn::Result<Option<Self>> {
        let docs: Vec<Attribute> =
            function.attrs.iter().filter(|found| found.path().is_ident("doc")).cloned().collect();
        if docs.is_empty() || function.sig.asyncness.is_none() {
            return Ok(None);
        }
        let name = function.sig.ident.clone();
        let category = match take(&mut function.attrs, "category") {
            Some(attribute) => attribute.parse_args()?,
            None => infer_category(&name)?,
        };
        let mut examples = Vec::new();
        while let Some(attribute) = take(&mut function.attrs, "example") {
            examples.push(attribute.parse_args_with(example)?);
        }
        // An operation may have many parameters, and each is an argument of the method.
        function.attrs.push(syn::parse_quote!(#[allow(clippy::too_many_arguments)]));
        let (mut fields, mut arguments) = (Vec::new(), Vec::new());
        for input in &mut function.sig.inputs {
            let FnArg::Typed(parameter) = input else { continue };
            if is_named(&parameter.ty, "Reporter") {
                arguments.push(Argument::Reporter);
            } else if is_named(&parameter.ty, "Ctx") {
                arguments.push(Argument::Context);
            } else {
                arguments.push(Argument::Parameter(parameter_name(parameter)?));
                fields.push(parameter.clone());
                parameter.attrs.clear();
            }
        }
        let is_long = arguments.iter().any(|argument| matches!(argument, Argument::Reporter));
        if is_long && category != "Execute" {
            return Err(syn::Error::new(
                name.span(),
                "an operation with a Reporter must be an EXECUTE: begin its name with 'execute' or add #[category(Execute)]",
            ));
        }
        Ok(Some(Self { name, docs, category, fields, arguments, examples }))
    }

    fn struct_name(&self) -> Ident {
        Ident::new(&pascal_case(&self.name.to_string()), self.name.span())
    }

    /// The struct of the operation's parameters.
    pub(crate) fn parameters(&self) -> TokenStream {
        let (docs, name) = (&self.docs, self.struct_name());
        let fields = self.fields.iter().map(|field| {
            let default = is_named(&field.ty, "DryRun").then(|| quote!(#[serde(default)]));
            quote!(#default #field)
        });
        quote! {
            #(#docs)*
            #[derive(::aquifer_engine::adapter::macros::Deserialize, ::aquifer_engine::adapter::macros::JsonSchema)]
            #[serde(crate = "::aquifer_engine::adapter::macros::serde")]
            #[schemars(crate = "::aquifer_engine::adapter::macros::schemars")]
            struct #name { #(#fields),* }
        }
    }

    /// The code that adds the operation to an adapter.
    pub(crate) fn registration(&self) -> TokenStream {
        let (method, parameters, category) = (&self.name, self.struct_name(), &self.category);
        let names = self.arguments.iter().filter_map(|argument| match argument {
            Argument::Parameter(name) => Some(name),
            _ => None,
        });
        let pattern = quote!(#parameters { #(#names),* }: #parameters);
        let arguments = self.arguments.iter().map(|argument| match argument {
            Argument::Parameter(name) => quote!(#name),
            Argument::Reporter => quote!(__reporter),
            Argument::Context => quote!(__cx.clone()),
        });
        let call = quote!(async move { __cx.#method(#(#arguments),*).await });
        let is_long = self.arguments.iter().any(|argument| matches!(argument, Argument::Reporter));
        let add = if is_long {
            quote!(.execute_long(|__cx: Ctx<Self>, #pattern, __reporter| #call))
        } else {
            quote!(.operation(Category::#category, |__cx: Ctx<Self>, #pattern| #call))
        };
        let examples = &self.examples;
        quote!(#add #(.example(#examples))*)
    }
}

fn take(attributes: &mut Vec<Attribute>, name: &str) -> Option<Attribute> {
    let index = attributes.iter().position(|attribute| attribute.path().is_ident(name))?;
    Some(attributes.remove(index))
}

fn example(input: syn::parse::ParseStream<'_>) -> syn::Result<TokenStream> {
    let description: syn::LitStr = input.parse()?;
    input.parse::<Token![,]>()?;
    let params: TokenStream = input.parse()?;
    Ok(quote!(#description, ::aquifer_engine::adapter::macros::json!(#params)))
}

fn infer_category(name: &Ident) -> syn::Result<Ident> {
    let text = name.to_string();
    let verb = text.split('_').next().unwrap_or_default();
    let found = VERBS.iter().find(|(_, verbs)| verbs.contains(&verb));
    match found {
        Some((category, _)) => Ok(Ident::new(category, Span::call_site())),
        None => Err(syn::Error::new(
            name.span(),
            "the verb does not imply a category: add #[category(…)] with Create, Read, Update, Delete or Execute",
        )),
    }
}

fn parameter_name(parameter: &PatType) -> syn::Result<Ident> {
    match &*parameter.pat {
        Pat::Ident(pattern) => Ok(pattern.ident.clone()),
        other => Err(syn::Error::new(other.span(), "a parameter of an operation needs a plain name")),
    }
}

fn is_named(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|segment| segment.ident == name))
}

fn pascal_case(name: &str) -> String {
    name.split('_')
        .flat_map(|word| {
            let mut letters = word.chars();
            letters.next().into_iter().flat_map(char::to_uppercase).chain(letters)
        })
        .collect()
}
