use super::*;

#[test]
fn keys_are_what_the_service_takes_and_never_merged() {
    assert_eq!(key_text("train/loss a:b 🎉"), "train/loss a:b 🎉");
    let odd = ["/loss", "loss/", "loss.", "lo\nss", "lo_ss", "loss", "/"];
    let mut keys: Vec<String> = odd.iter().map(|name| key_text(name)).collect();
    for key in &keys {
        assert!(!key.is_empty() && !key.starts_with(['.', '/']) && !key.ends_with(['.', '/']));
        assert!(!key.contains('\n'));
    }
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), odd.len());
    let long = ["x".repeat(1_000), "x".repeat(1_001)].map(|name| key_text(&name));
    assert_ne!(long[0], long[1]);
    assert_eq!(long[0].chars().count(), KEY_CHARS);
}

#[test]
fn floats_in_yaml_stay_floats() {
    let texts = [1e-7, 1.5e-7, 1e21, 0.5, 3.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let expected = ["1.0e-7", "1.5e-7", "1.0e+21", "0.5", "3.0", ".nan", ".inf", "-.inf"];
    assert_eq!(texts.map(float), expected);
}

#[test]
fn projects_are_cut_to_what_the_service_takes() {
    assert_eq!(project_name("pursuit-v2.1+x_y"), "pursuit-v2.1+x_y");
    assert_eq!(project_name("pursuit v2/é"), "pursuit_v2__");
    assert_eq!(project_name(&"a".repeat(200)), "a".repeat(100));
    assert_eq!(project_name(""), "_");
}
