//! The functions of `librados.h`, of which a version 3 has all since Ceph 15. Handles are pointers to what the library alone looks into.

use std::ffi::{c_char, c_int, c_uchar, c_void};

pub(crate) type Cluster = *mut c_void;
pub(crate) type IoContext = *mut c_void;
pub(crate) type WriteOperation = *mut c_void;
pub(crate) type ReadOperation = *mut c_void;
pub(crate) type OmapIterator = *mut c_void;

/// `LIBRADOS_CREATE_EXCLUSIVE`, `LIBRADOS_CREATE_IDEMPOTENT`.
pub(crate) const CREATE_EXCLUSIVE: c_int = 1;
pub(crate) const CREATE_IDEMPOTENT: c_int = 0;
/// `LIBRADOS_CMPXATTR_OP_EQ`.
pub(crate) const EQUAL: u8 = 1;
/// `LIBRADOS_OPERATION_FULL_TRY`: a full cluster says so, instead of letting the request wait.
pub(crate) const FULL_TRY: c_int = 64;

#[link(name = "rados")]
unsafe extern "C" {
    pub(crate) fn rados_create(cluster: *mut Cluster, id: *const c_char) -> c_int;
    pub(crate) fn rados_conf_read_file(cluster: Cluster, path: *const c_char) -> c_int;
    pub(crate) fn rados_conf_set(
        cluster: Cluster,
        option: *const c_char,
        value: *const c_char,
    ) -> c_int;
    pub(crate) fn rados_connect(cluster: Cluster) -> c_int;
    pub(crate) fn rados_shutdown(cluster: Cluster);
    pub(crate) fn rados_get_instance_id(cluster: Cluster) -> u64;
    pub(crate) fn rados_pool_reverse_lookup(
        cluster: Cluster,
        id: i64,
        name: *mut c_char,
        len: usize,
    ) -> c_int;

    pub(crate) fn rados_ioctx_create(
        cluster: Cluster,
        pool: *const c_char,
        io: *mut IoContext,
    ) -> c_int;
    pub(crate) fn rados_ioctx_destroy(io: IoContext);
    pub(crate) fn rados_ioctx_set_namespace(io: IoContext, namespace: *const c_char);
    pub(crate) fn rados_ioctx_get_id(io: IoContext) -> i64;

    pub(crate) fn rados_create_write_op() -> WriteOperation;
    pub(crate) fn rados_release_write_op(op: WriteOperation);
    pub(crate) fn rados_write_op_create(
        op: WriteOperation,
        exclusive: c_int,
        category: *const c_char,
    );
    pub(crate) fn rados_write_op_remove(op: WriteOperation);
    pub(crate) fn rados_write_op_write(
        op: WriteOperation,
        bytes: *const c_char,
        len: usize,
        offset: u64,
    );
    pub(crate) fn rados_write_op_omap_cmp2(
        op: WriteOperation,
        key: *const c_char,
        comparison: u8,
        value: *const c_char,
        key_len: usize,
        value_len: usize,
        result: *mut c_int,
    );
    pub(crate) fn rados_write_op_omap_set2(
        op: WriteOperation,
        keys: *const *const c_char,
        values: *const *const c_char,
        key_lens: *const usize,
        value_lens: *const usize,
        count: usize,
    );
    pub(crate) fn rados_write_op_omap_rm_keys2(
        op: WriteOperation,
        keys: *const *const c_char,
        key_lens: *const usize,
        count: usize,
    );
    pub(crate) fn rados_write_op_omap_rm_range2(
        op: WriteOperation,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
    );
    pub(crate) fn rados_write_op_operate2(
        op: WriteOperation,
        io: IoContext,
        object: *const c_char,
        modified: *mut c_void,
        flags: c_int,
    ) -> c_int;

    pub(crate) fn rados_create_read_op() -> ReadOperation;
    pub(crate) fn rados_release_read_op(op: ReadOperation);
    pub(crate) fn rados_read_op_read(
        op: ReadOperation,
        offset: u64,
        len: usize,
        buffer: *mut c_char,
        read: *mut usize,
        result: *mut c_int,
    );
    pub(crate) fn rados_read_op_omap_get_vals2(
        op: ReadOperation,
        after: *const c_char,
        prefix: *const c_char,
        count_max: u64,
        iterator: *mut OmapIterator,
        has_more: *mut c_uchar,
        result: *mut c_int,
    );
    pub(crate) fn rados_read_op_omap_get_vals_by_keys2(
        op: ReadOperation,
        keys: *const *const c_char,
        count: usize,
        key_lens: *const usize,
        iterator: *mut OmapIterator,
        result: *mut c_int,
    );
    pub(crate) fn rados_read_op_operate(
        op: ReadOperation,
        io: IoContext,
        object: *const c_char,
        flags: c_int,
    ) -> c_int;
    pub(crate) fn rados_omap_get_next2(
        iterator: OmapIterator,
        key: *mut *mut c_char,
        value: *mut *mut c_char,
        key_len: *mut usize,
        value_len: *mut usize,
    ) -> c_int;
    pub(crate) fn rados_omap_get_end(iterator: OmapIterator);
}
