// Package verify checks whether a collection has the same documents as before, by sums over ranges of
// _id.
//
// A Scan takes documents in the order of _id and sums a hash of the exact bytes of each document. A
// lost, added, doubled or changed document changes the sums of its range; this includes a number that
// changed by one bit, and a changed type. The Scan chooses the ranges as documents arrive, and joins
// them in pairs when there are many, so that a digest stays small. A second Scan with the bounds of the
// first one is compared with the first range by range. For a range that differs, a DifferenceFinder
// finds the document, if a single document explains the difference.
//
// A File stores digests, finished or not. A Scan can continue from a stored digest, and produces the
// same digest as an uninterrupted one.
package verify
