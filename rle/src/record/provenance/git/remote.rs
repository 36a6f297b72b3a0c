//! Addresses of repositories without the credentials that people put into them.
//!
//! Where an address can be read in two ways, more of it is left out rather than less.

/// The address with neither user, token nor password, query nor fragment.
pub(super) fn without_credentials(address: &str) -> String {
    if let Some((scheme, rest)) = address.split_once("://")
        && is_word(scheme)
    {
        return format!("{scheme}://{}", host_and_path(rest));
    }
    if let Some((helper, rest)) = address.split_once("::")
        && is_word(helper)
    {
        // The address of `ext` is a command line, which may say anything.
        return if helper == "ext" {
            "ext::".to_owned()
        } else {
            format!("{helper}::{}", without_credentials(rest))
        };
    }
    let (before_path, _) = address.split_once('/').unwrap_or((address, ""));
    // Without a colon before the first slash it is a path of this machine.
    if !before_path.contains(':') {
        return address.to_owned();
    }
    match before_path.rfind('@') {
        Some(at) => address[at + 1..].to_owned(),
        None => address.to_owned(),
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
}

fn host_and_path(rest: &str) -> &str {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host_starts = rest[..end].rfind('@').map_or(0, |at| at + 1);
    let host = &rest[host_starts..end];
    // A password with an unescaped separator makes a host of its first half.
    let is_cut_password = !host.ends_with(']')
        && host.rsplit_once(':').is_some_and(|(_, port)| !port.bytes().all(|c| c.is_ascii_digit()));
    let start = match rest.rfind('@') {
        Some(at) if is_cut_password => at + 1,
        _ => host_starts,
    };
    let kept = &rest[start..];
    &kept[..kept.find(['?', '#']).unwrap_or(kept.len())]
}

#[cfg(test)]
mod tests {
    use super::without_credentials;

    #[test]
    fn credentials_are_removed_in_every_form_of_address() {
        for (given, kept) in [
            ("https://user:token@host/x.git", "https://host/x.git"),
            ("https://token@host/x.git", "https://host/x.git"),
            ("https://user:p@ss:w@rd@host:8443/x.git", "https://host:8443/x.git"),
            ("https://user:pa/ss@host/x.git", "https://host/x.git"),
            ("https://user:pa#s?s@host/x.git", "https://host/x.git"),
            ("https://:token@host/x", "https://host/x"),
            ("https://user:tok%40en@host/x", "https://host/x"),
            ("HTTPS://User:Token@Host/x", "HTTPS://Host/x"),
            ("https://host/x.git?private_token=abc#deploy", "https://host/x.git"),
            ("https://host?access_token=abc@d", "https://host"),
            ("ssh://git@host:22/x.git", "ssh://host:22/x.git"),
            ("ssh://git:secret@[::1]:22/x.git", "ssh://[::1]:22/x.git"),
            ("git+ssh://git@host/x", "git+ssh://host/x"),
            ("git@host:group/x.git", "host:group/x.git"),
            ("user:token@host:group/x.git", "host:group/x.git"),
            ("https:user:token@host/x", "host/x"),
            ("helper::https://user:token@host/x", "helper::https://host/x"),
            ("ext::ssh -i key user@host %S x", "ext::"),
        ] {
            assert_eq!(without_credentials(given), kept, "{given}");
        }
    }

    #[test]
    fn an_address_without_credentials_stays_as_it_is() {
        for address in [
            "https://host/x.git",
            "https://host/@scope/x.git",
            "https://host:8443/a@b/x.git",
            "ssh://[::1]/x",
            "host:group/x.git",
            "file:///srv/git/x.git",
            "/srv/git@2/x.git",
            "../x@y/z.git",
            "",
        ] {
            assert_eq!(without_credentials(address), address);
        }
    }
}
