use super::*;

#[test]
fn a_record_is_framed_as_the_format_says() {
    let mut out = Vec::new();
    frame(&mut out, |out| out.extend_from_slice(b"123456789"));
    let length = 9_u64.to_le_bytes();
    let expected = [&length, &masked(&length)[..], b"123456789", &0xc78a_b0e5_u32.to_le_bytes()];
    assert_eq!(out, expected.concat());
}

#[test]
fn an_end_is_found_only_where_it_is_the_last_whole_record() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events");
    let mut end = Vec::new();
    frame(&mut end, |out| {
        wire::message(out, event::SUMMARY, |out| {
            wire::message(out, 1, |out| wire::text(out, 1, END_TAG));
        });
    });
    let mut other = Vec::new();
    frame(&mut other, |out| wire::text(out, event::FILE_VERSION, "brain.Event:2"));
    let found = |records: &[&[u8]]| {
        fs::write(&path, records.concat()).unwrap();
        session_end(&path).unwrap()
    };
    let before = Some(other.len() as u64);
    assert_eq!(found(&[&other, &end]), before);
    assert_eq!(found(&[&other, &end, &other[..9]]), before);
    assert_eq!(found(&[&other, &end, &other]), None);
    assert_eq!(found(&[&other, &end[..end.len() - 1]]), None);
    assert_eq!(found(&[]), None);
}

#[test]
fn nested_keys_become_dotted_names() {
    let text = br#"{"a":{"b":{"lr":0.5},"on":true},"layers":[64,64],"name":"x","none":null}"#;
    let mut flat = Vec::new();
    let config = Value::parse_json(text).unwrap();
    for_each_parameter(&config, &mut String::new(), &mut |name, value| {
        flat.push(format!("{name} {value}"));
    });
    assert_eq!(flat, ["a.b.lr 0.5", "a.on true", "layers [64,64]", "name \"x\""]);
}
