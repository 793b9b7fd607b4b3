//! Pages that are synced: clouds, devices beside maps, crashes, and clouds that lie.

mod attacks;
mod clouds;
mod crash;
mod device;
mod devices;
mod lazy;
mod random;
mod shared;
