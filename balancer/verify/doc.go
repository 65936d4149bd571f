// Package verify finds out whether a collection holds the same documents as before, from
// sums over ranges of _id.
//
// A Scan takes documents in the order of _id and adds up a hash of each one's exact bytes:
// a lost, added, doubled or changed document changes the sums of its range, and so does a
// number that changed by one bit, or the type of a value. The ranges are cut as documents
// come, and joined in pairs when there are many, so that a digest stays small. A second Scan
// with the bounds of the first one is compared with it range by range; of a range that
// differs a DifferenceNamer tells which document it is, where one explains the difference.
//
// A File keeps digests, finished or not: a Scan goes on from what was kept, and comes to
// the same digest as one that was never ended.
package verify
