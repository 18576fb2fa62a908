//! One operation: parsing its method and generating its code.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, FnArg, Ident, ImplItemFn, Lit, Meta, Pat, PatType, ReturnType, Type};

use crate::arguments::OperationArguments;
use crate::problems::Problems;

/// An operation, parsed from a method.
pub(crate) struct Method {
    name: Ident,
    description: String,
    category: Ident,
    parameters: Vec<Argument>,
    returns: Type,
    arguments: OperationArguments,
}

/// An argument of the method after `self`.
struct Argument {
    name: Ident,
    of: Type,
    description: Option<String>,
    /// Its `serde` and `schemars` attributes. If there are any, the argument is certainly a parameter.
    attributes: Vec<Attribute>,
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
    /// Parses a method and removes this macro's attributes from it. `None` if it is not an operation.
    pub(crate) fn read(function: &mut ImplItemFn, problems: &mut Problems) -> Option<Self> {
        let marked = function.attrs.iter().position(|attribute| attribute.path().is_ident("operation"));
        let attribute = function.attrs.remove(marked?);
        let arguments = OperationArguments::read(&attribute, problems);
        let (name, signature) = (function.sig.ident.clone(), &mut function.sig);
        if signature.asyncness.is_none() {
            problems.add(signature.fn_token, "an operation must be an async fn");
        }
        let generics = &signature.generics;
        if !generics.params.is_empty() {
            problems.add(&generics.params, "an operation cannot be generic: its parameters must be known");
        }
        match signature.inputs.first() {
            Some(FnArg::Receiver(receiver)) if receiver.reference.is_some() && receiver.mutability.is_none() => {}
            _ => problems.add(&name, "an operation must take &self first"),
        }
        let description = doc_text(&function.attrs);
        if description.is_none() {
            problems.add(&name, "an operation needs a doc comment: it is what callers read");
        }
        let category = match &arguments.category {
            Some(category) => Some(category.clone()),
            None => infer_category(&name, problems),
        };
        if let (Some(long), Some(category)) = (&arguments.long_running, &category)
            && category != "Execute"
        {
            problems.add(
                long,
                "a long-running operation must be an EXECUTE: begin its name with 'execute' or add category = Execute",
            );
        }
        let returns = match &signature.output {
            ReturnType::Type(_, returns) => Some((**returns).clone()),
            ReturnType::Default => {
                problems.add(&name, "an operation must return an Answer<T>");
                None
            }
        };
        let mut parameters = Vec::new();
        for input in signature.inputs.iter_mut().skip(1) {
            if let FnArg::Typed(parameter) = input {
                parameters.extend(Argument::read(parameter, problems));
            }
        }
        if category.as_ref().is_some_and(|category| category != "Read") {
            check_names(&arguments, &parameters, problems);
        }
        // An operation may have many parameters, each an argument of the method.
        function.attrs.push(syn::parse_quote!(#[allow(clippy::too_many_arguments)]));
        Some(Self { name, description: description?, category: category?, parameters, returns: returns?, arguments })
    }

    /// The statement that adds the operation to the adapter.
    pub(crate) fn definition(&self) -> TokenStream {
        let Self { name, description, category, parameters, returns, arguments } = self;
        let operation_name = name.to_string();
        let indexed = || parameters.iter().enumerate();
        let structs = indexed().filter_map(|(index, parameter)| parameter.parameter_struct(index));
        let descriptions = indexed().map(|(index, parameter)| parameter.description(index));
        let values = indexed().map(|(index, parameter)| parameter.value(index));
        let passed = indexed().map(|(index, _)| format_ident!("__value_{index}"));
        let long_running = arguments.long_running.as_ref().map(|_| quote!(__operation.long_running();));
        let modifiers = &arguments.modifiers;
        // Spanned at the type, so that an unsuitable type is reported there.
        let returned = quote_spanned!(returns.span()=>
            ::aquifer_adapter::macros::Returned::<<#returns as ::aquifer_adapter::macros::HandlerResult>::Ok>::new());
        quote! {
            let __adapter = {
                #(#structs)*
                let mut __operation = ::aquifer_adapter::OperationDraft::new(
                    #operation_name,
                    ::aquifer_adapter::Category::#category,
                    #description,
                );
                #long_running
                #(#descriptions)*
                let __returned = #returned;
                let __answer = (&&__returned).kind();
                __answer.describe(__returned, &mut __operation);
                __adapter
                    .add(__operation, move |mut __call: ::aquifer_adapter::CallParts<Self>| async move {
                        #(#values)*
                        let __result = __call.state().#name(#(#passed),*).await;
                        let __result = ::aquifer_adapter::macros::HandlerResult::into_result(__result)?;
                        __answer.answer(__returned, __result).await
                    })
                    #(#modifiers)*
            };
        }
    }
}

impl Argument {
    fn read(parameter: &mut PatType, problems: &mut Problems) -> Option<Self> {
        let name = match &*parameter.pat {
            Pat::Ident(pattern) => pattern.ident.clone(),
            other => {
                problems.add(other, "a parameter of an operation needs a plain name");
                return None;
            }
        };
        let description = doc_text(&parameter.attrs);
        let (mut attributes, mut others) = (Vec::new(), Vec::new());
        for attribute in std::mem::take(&mut parameter.attrs) {
            let path = attribute.path();
            if path.is_ident("serde") || path.is_ident("schemars") {
                attributes.push(attribute);
            } else if !path.is_ident("doc") {
                others.push(attribute);
            }
        }
        parameter.attrs = others;
        Some(Self { name, of: (*parameter.ty).clone(), description, attributes })
    }

    /// A struct with the parameter as its only field, for attributes that need a derive.
    fn parameter_struct(&self, index: usize) -> Option<TokenStream> {
        if self.attributes.is_empty() {
            return None;
        }
        let Self { name, of, description, attributes } = self;
        let (struct_name, doc) = (format_ident!("__Parameter{index}"), description.iter());
        Some(quote! {
            #[derive(::aquifer_adapter::macros::Deserialize, ::aquifer_adapter::macros::JsonSchema)]
            #[serde(crate = "::aquifer_adapter::macros::serde")]
            #[schemars(crate = "::aquifer_adapter::macros::schemars")]
            struct #struct_name {
                #(#[doc = #doc])*
                #(#attributes)*
                #name: #of,
            }
        })
    }

    fn description(&self, index: usize) -> TokenStream {
        if !self.attributes.is_empty() {
            let struct_name = format_ident!("__Parameter{index}");
            return quote!(::aquifer_adapter::macros::DerivedParameter::<#struct_name>::describe(&mut __operation););
        }
        let Self { name, of, description, .. } = self;
        let (name, description) = (name.to_string(), optional(description.as_deref()));
        let (argument, kind) = (format_ident!("__argument_{index}"), format_ident!("__kind_{index}"));
        // Spanned at the type, so that an unsuitable type is reported there.
        quote_spanned! { of.span()=>
            let #argument = ::aquifer_adapter::macros::Argument::<#of, Self>::new(#name, #description);
            let #kind = (&&#argument).kind();
            #kind.describe(#argument, &mut __operation);
        }
    }

    fn value(&self, index: usize) -> TokenStream {
        let (value, name) = (format_ident!("__value_{index}"), &self.name);
        if !self.attributes.is_empty() {
            let struct_name = format_ident!("__Parameter{index}");
            return quote! {
                let #struct_name { #name: #value } =
                    ::aquifer_adapter::macros::DerivedParameter::<#struct_name>::extract(&__call)?;
            };
        }
        let (argument, kind) = (format_ident!("__argument_{index}"), format_ident!("__kind_{index}"));
        quote!(let #value = #kind.extract(#argument, &mut __call).await?;)
    }
}

fn optional(text: Option<&str>) -> TokenStream {
    match text {
        Some(text) => quote!(::core::option::Option::Some(#text)),
        None => quote!(::core::option::Option::None),
    }
}

/// Parameters that the engine adds to operations other than READ.
const ADDED: &[&str] = &["confirmation_token", "dry_run", "if_match", "max_tokens", "wait"];

/// Reports names in examples and in the confirmation that are not parameters. Only if all parameters are known here: an
/// argument without a doc comment may be an extractor that adds some, and `serde` may rename them. What cannot be checked
/// here is checked when the adapter is built.
fn check_names(arguments: &OperationArguments, parameters: &[Argument], problems: &mut Problems) {
    let is_renamed =
        |argument: &Argument| argument.attributes.iter().any(|attribute| attribute.path().is_ident("serde"));
    if parameters.iter().any(|argument| argument.description.is_none() || is_renamed(argument)) {
        return;
    }
    let is_known = |name: &str| ADDED.contains(&name) || parameters.iter().any(|argument| argument.name == name);
    if let Some(message) = &arguments.confirm_message {
        let text = message.value();
        let names = text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name);
        let is_name = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        for name in names.filter(is_name).filter(|name| !is_known(name)) {
            problems.add(message, &format!("the placeholder '{name}' is not a parameter of this operation"));
        }
    }
    for member in arguments.example_members.iter().filter(|member| !is_known(&member.value())) {
        problems.add(member, &format!("'{}' is not a parameter of this operation", member.value()));
    }
}

/// The text of a doc comment.
fn doc_text(attributes: &[Attribute]) -> Option<String> {
    let lines: Vec<String> = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(value) if value.path.is_ident("doc") => match &value.value {
                Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) => Some(line.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        })
        .collect();
    let text = lines.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn infer_category(name: &Ident, problems: &mut Problems) -> Option<Ident> {
    let text = name.to_string();
    let verb = text.split('_').next().unwrap_or_default();
    match VERBS.iter().find(|(_, verbs)| verbs.contains(&verb)) {
        Some((category, _)) => Some(Ident::new(category, Span::call_site())),
        None => {
            let message = format!(
                "the verb '{verb}' does not imply a category: add #[operation(category = …)] with Create, Read, Update, \
                 Delete or Execute"
            );
            problems.add(name, &message);
            None
        }
    }
}
