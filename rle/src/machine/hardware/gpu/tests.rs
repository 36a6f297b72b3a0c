use super::*;
use crate::machine::hardware::tree::Tree;

/// Two A100s, an undivided and a divided one, and two A16s, of which the first is the slower.
fn devices() -> Vec<Device> {
    let gpu = |name: &str| Gpu { name: Some(name.to_owned()), ..Gpu::default() };
    let device = |uuid: &str, bus, name, speed| Device {
        uuid: Some(format!("GPU-{uuid}")),
        place: Some((0, bus, 0)),
        speed: Some(speed),
        gpu: gpu(name),
        ..Device::default()
    };
    let part =
        |uuid: &str| Instance { uuid: Some(format!("MIG-{uuid}")), gpu: gpu("A100 MIG 1g.5gb") };
    let mut divided = device("dd00", 4, "A100", 90);
    divided.is_divided = true;
    divided.instances = vec![part("1100"), part("1200")];
    vec![
        device("bb00", 2, "A16", 10),
        device("aa00", 1, "A100", 90),
        device("bb11", 3, "A16", 10),
        divided,
    ]
}

/// What is visible without the divided GPU, as `count x name`.
fn visible(environment: &[(&str, &str)]) -> Vec<String> {
    let devices = devices().into_iter().filter(|device| !device.is_divided).collect();
    visible_of(devices, environment)
}

fn visible_of(devices: Vec<Device>, environment: &[(&str, &str)]) -> Vec<String> {
    let machine = Tree::new(&[]).in_job(environment);
    let groups = group(Choice::read(&machine).among(devices));
    groups
        .iter()
        .map(|gpu| format!("{} x {}", gpu.count.unwrap(), gpu.name.as_deref().unwrap()))
        .collect()
}

fn listed(list: &str) -> Vec<String> {
    visible(&[("CUDA_VISIBLE_DEVICES", list), ("CUDA_DEVICE_ORDER", "PCI_BUS_ID")])
}

#[test]
fn without_a_list_all_are_visible_and_equal_ones_are_counted() {
    assert_eq!(visible(&[]), ["1 x A100", "2 x A16"]);
}

#[test]
fn indices_count_by_place_on_the_bus_where_that_is_asked_for() {
    assert_eq!(listed("0"), ["1 x A100"]);
    assert_eq!(listed("1"), ["1 x A16"]);
    assert_eq!(listed("2, 0"), ["1 x A100", "1 x A16"]);
    assert_eq!(listed("+1,02"), ["2 x A16"]);
    assert_eq!(listed("1gpu2,2ampere"), ["2 x A16"]);
}

#[test]
fn indices_count_by_speed_otherwise() {
    let mut devices = devices();
    devices.pop();
    devices[0].place = Some((0, 0, 0));
    let by = |order: &str| {
        let environment = [("CUDA_VISIBLE_DEVICES", "0"), ("CUDA_DEVICE_ORDER", order)];
        visible_of(devices.clone(), &environment)
    };
    assert_eq!(by("PCI_BUS_ID"), ["1 x A16"]);
    assert_eq!(by("FASTEST_FIRST"), ["1 x A100"]);
    assert_eq!(by("nonsense"), ["1 x A100"]);
}

#[test]
fn the_list_ends_before_the_first_entry_that_is_no_gpu() {
    for (list, wanted) in [
        ("1,-1,2", &["1 x A16"][..]),
        ("1,7,2", &["1 x A16"]),
        ("1,,2", &["1 x A16"]),
        ("1,x,2", &["1 x A16"]),
        ("1,GPU-aa,2", &["1 x A16"]),
        ("7,1", &[]),
        ("1,99999999999999999999999", &["1 x A16"]),
    ] {
        assert_eq!(listed(list), wanted, "{list}");
    }
}

#[test]
fn some_lists_are_no_gpus_and_wake_no_driver() {
    for list in ["", " ", "-1", "NoDevFiles", "none", "all", ",0"] {
        assert_eq!(listed(list), [""; 0], "{list}");
        let machine = Tree::new(&[]).in_job(&[("CUDA_VISIBLE_DEVICES", list)]);
        assert!(Choice::read(&machine).is_nothing(), "{list}");
    }
    for list in ["0", "GPU-", "MIG-1"] {
        let machine = Tree::new(&[]).in_job(&[("CUDA_VISIBLE_DEVICES", list)]);
        assert!(!Choice::read(&machine).is_nothing(), "{list}");
    }
}

#[test]
fn identifiers_may_be_cut_short_as_long_as_they_are_clear() {
    assert_eq!(listed("GPU-aa00"), ["1 x A100"]);
    assert_eq!(listed("GPU-a"), ["1 x A100"]);
    assert_eq!(listed("GPU-bb0,GPU-bb1"), ["2 x A16"]);
    assert_eq!(listed("GPU-aa,GPU-bb"), ["1 x A100"]);
    assert_eq!(listed("GPU-bb"), [""; 0]);
    assert_eq!(listed("GPU-zz,GPU-aa"), [""; 0]);
    assert_eq!(listed("GPU-aa,1"), ["1 x A100"]);
}

#[test]
fn a_gpu_that_stands_twice_makes_the_list_void() {
    assert_eq!(listed("1,1"), [""; 0]);
    assert_eq!(listed("0,1,0"), [""; 0]);
    assert_eq!(listed("GPU-aa,GPU-aa00"), [""; 0]);
    // After the end of the list nothing counts.
    assert_eq!(listed("1,-1,1"), ["1 x A16"]);
}

#[test]
fn of_divided_gpus_one_instance_is_visible_and_nothing_else() {
    let with = |list: &str| {
        let environment = [("CUDA_VISIBLE_DEVICES", list), ("CUDA_DEVICE_ORDER", "PCI_BUS_ID")];
        visible_of(devices(), &environment)
    };
    let one = ["1 x A100 MIG 1g.5gb"];
    assert_eq!(visible_of(devices(), &[]), one);
    assert_eq!(with("MIG-12"), one);
    assert_eq!(with("MIG-11,MIG-12"), one);
    assert_eq!(with("MIG-1"), [""; 0]);
    assert_eq!(with("GPU-dd"), one);
    assert_eq!(with("3"), one);
    assert_eq!(with("0,1"), ["1 x A100", "1 x A16"]);
    // Divided, but not into anything.
    let mut bare = devices();
    bare[3].instances.clear();
    assert_eq!(visible_of(bare.clone(), &[]), ["1 x A100", "2 x A16"]);
    assert_eq!(visible_of(bare, &[("CUDA_VISIBLE_DEVICES", "GPU-dd")]), [""; 0]);
}

#[test]
fn the_instances_of_older_drivers_are_named_by_their_gpu() {
    let mut devices = devices();
    devices[3].instances[1].uuid = Some("MIG-GPU-dd00/1/0".to_owned());
    let list = [("CUDA_VISIBLE_DEVICES", "MIG-GPU-dd00/1/0")];
    assert_eq!(visible_of(devices, &list), ["1 x A100 MIG 1g.5gb"]);
}

fn parsed(text: &str) -> Vec<Device> {
    match smi::parse(text) {
        Ok(devices) => devices,
        _ => panic!("not read: {text}"),
    }
}

#[test]
fn the_lines_of_the_program_are_read() {
    let text = "GPU-1, 00000000:C7:00.0, 15356, [N/A], NVIDIA A16\n\
                GPU-2, 00000000:07:00.0, [N/A], Enabled, NVIDIA A100, SXM4\n";
    let devices = parsed(text);
    assert_eq!(devices[0].place, Some((0, 0xc7, 0)));
    let gpu = Gpu { name: Some("NVIDIA A16".to_owned()), memory_gib: Some(15.0), ..Gpu::default() };
    assert_eq!(devices[0].gpu, gpu);
    assert_eq!(devices[1].gpu.name.as_deref(), Some("NVIDIA A100, SXM4"));
    assert_eq!((devices[1].gpu.memory_gib, devices[1].is_divided), (None, true));
    assert_eq!(parsed("No devices were found\n"), []);
    assert!(matches!(smi::parse("Failed to initialize NVML\n"), Err(ReadError::Broken(_))));
}
