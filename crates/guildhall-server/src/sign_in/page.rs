//! The page's HTML. Whatever comes from outside goes through [`escaped`].

use guildhall_core::Principal;
use guildhall_core::clock::rfc3339_millis;
use guildhall_core::text::steers;
use guildhall_store::Login;

/// What all views share.
pub(super) struct Page<'a> {
    pub(super) csrf: &'a str,
    pub(super) person: Option<&'a Principal>,
    /// The workspace that is served.
    pub(super) server: &'a str,
}

/// What the page is to show.
pub(super) enum View<'a> {
    SignIn {
        code: &'a str,
        problem: Option<&'a str>,
    },
    AskCode {
        problem: Option<&'a str>,
    },
    Decide {
        code: &'a str,
        login: &'a Login,
    },
    Decided {
        login: &'a Login,
        approve: bool,
    },
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:3rem auto;padding:0 1rem;\
    color:#1b1b1b;background:#fff}h1{font-size:1.4rem}input,button{font:inherit;padding:.5rem .75rem;margin:.25rem .5rem .25rem 0}\
    input{display:block;width:100%;box-sizing:border-box}code{font-size:1.05rem;overflow-wrap:anywhere}\
    .problem{color:#a00000}footer{margin-top:3rem;color:#555;font-size:.9rem}\
    @media(prefers-color-scheme:dark){body{color:#eee;background:#161616}.problem{color:#ff8080}footer{color:#aaa}}";

impl Page<'_> {
    pub(super) fn render(&self, view: &View<'_>) -> String {
        let content = match view {
            View::SignIn { code, problem } => self.sign_in(code, *problem),
            View::AskCode { problem } => ask_code(*problem),
            View::Decide { code, login } => self.decide(code, login),
            View::Decided { login, approve } => decided(login, *approve),
        };
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\"><title>Sign in to Guildhall</title>\
             <style>{STYLE}</style></head><body><main>{content}</main><footer>{}Server of {}</footer></body></html>\n",
            self.signed_in_as(),
            escaped(self.server)
        )
    }

    fn hidden(&self) -> String {
        format!(
            "<input type=\"hidden\" name=\"csrf\" value=\"{}\">",
            escaped(self.csrf)
        )
    }

    fn signed_in_as(&self) -> String {
        let Some(person) = self.person else {
            return String::new();
        };
        format!(
            "<form method=\"post\" action=\"/login\">{}Signed in as {} \
             <button name=\"step\" value=\"sign-out\">Sign out</button></form>",
            self.hidden(),
            escaped(person.name())
        )
    }

    fn sign_in(&self, code: &str, problem: Option<&str>) -> String {
        format!(
            "<h1>Sign in to Guildhall</h1>{}<form method=\"post\" action=\"/login\">{}\
             <input type=\"hidden\" name=\"code\" value=\"{}\">\
             <label>Your token, or the one-time sign-in code you were given\
             <input type=\"password\" name=\"secret\" required autofocus autocomplete=\"off\"></label>\
             <button name=\"step\" value=\"sign-in\">Sign in</button></form>",
            complaint(problem),
            self.hidden(),
            escaped(code)
        )
    }

    fn decide(&self, code: &str, login: &Login) -> String {
        format!(
            "<h1>Let this program act as you?</h1>\
             <p>It calls itself <strong>{}</strong>, asked at {} and shows the code</p><p><code>{}</code></p>\
             <p>Approve only if you started it yourself and your terminal shows this very code: it gets a token of yours.</p>\
             <form method=\"post\" action=\"/login\">{}<input type=\"hidden\" name=\"code\" value=\"{}\">\
             <button name=\"step\" value=\"approve\">Approve</button>\
             <button name=\"step\" value=\"refuse\">Refuse</button></form>",
            escaped(&login.client),
            rfc3339_millis(login.created_at),
            escaped(code),
            self.hidden(),
            escaped(code)
        )
    }
}

fn ask_code(problem: Option<&str>) -> String {
    format!(
        "<h1>Approve a login</h1>{}<form method=\"get\" action=\"/login\">\
         <label>The code that your terminal shows\
         <input name=\"code\" required autofocus autocomplete=\"off\"></label>\
         <button>Go on</button></form>",
        complaint(problem)
    )
}

fn decided(login: &Login, approve: bool) -> String {
    let (title, then) = if approve {
        ("Approved", "goes on by itself. You can close this page.")
    } else {
        ("Refused", "gets no token.")
    };
    format!(
        "<h1>{title}</h1><p><strong>{}</strong> {then}</p>",
        escaped(&login.client)
    )
}

fn complaint(problem: Option<&str>) -> String {
    problem.map_or_else(String::new, |problem| {
        format!(
            "<p class=\"problem\" role=\"alert\">{}</p>",
            escaped(problem)
        )
    })
}

/// `text` as the content of an element or of a quoted attribute.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if steers(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_becomes_markup() {
        let login = Login {
            client: "<img src=x onerror='alert(1)'>&\u{202e}".to_owned(),
            created_at: jiff::Timestamp::UNIX_EPOCH,
            expires_at: jiff::Timestamp::UNIX_EPOCH,
        };
        let page = Page {
            csrf: "abc",
            person: None,
            server: "/tmp/<b>",
        };
        let text = page.render(&View::Decide {
            code: "\"><script>alert(1)</script>",
            login: &login,
        });
        assert!(!text.contains("<img") && !text.contains("<script") && !text.contains("<b>"));
        assert!(text.contains("&lt;img src=x onerror=&#39;alert(1)&#39;&gt;&amp;\u{fffd}"));
        assert!(text.contains("value=\"&quot;&gt;&lt;script&gt;"));
    }
}
