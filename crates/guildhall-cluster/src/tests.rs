use std::path::Path;

use crate::account::ids_in;
use crate::{PgCluster, Programs, left_out};

#[test]
fn ids_are_found_by_the_whole_name() {
    let passwd =
        "root:x:0:0:root:/r:/bin/sh\npostgres2:x:7:8::/:/\npostgres:x:106:114:,,,:/v:/bin/bash\n";
    assert_eq!(ids_in(passwd, "postgres"), Some((106, 114)));
    assert_eq!(ids_in(passwd, "post"), None);
}

#[test]
fn a_server_gives_databases_and_is_gone_with_its_value() {
    if Programs::find().is_none() {
        left_out();
        return;
    }
    let cluster = PgCluster::start().unwrap();
    let dir = cluster.socket().to_owned();
    let template = cluster.database().unwrap();
    let copy = cluster.copy_of(template.name()).unwrap();
    assert_ne!(copy.name(), template.name());
    assert!(copy.url().ends_with(copy.name()));
    drop(cluster);
    assert!(!Path::new(&dir).exists(), "{dir} is left");
}
