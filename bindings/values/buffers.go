package values

// reusableBuffers are buffers that are reused for the next value.
type reusableBuffers struct {
	text    []byte   // for writing text; nil while it is in use
	encoder *encoder // for encoding documents; nil while it is in use
	slab    []byte   // copies of documents are allocated from it; a full slab belongs to its documents
}

const (
	// maxKeptBuffer is the size of the largest buffer that is kept for the next value.
	maxKeptBuffer = 64 << 10
	// slabSize is the size of the memory that documents share: a document that a script keeps retains
	// its slab, rather than a whole batch.
	slabSize = 16 << 10
)

// takeBuffer returns the empty buffer, and removes it while it is in use, because writing may run a
// script that writes something else.
func (r *reusableBuffers) takeBuffer() []byte {
	text := r.text
	r.text = nil
	return text[:0]
}

// giveBuffer returns a buffer for reuse.
func (r *reusableBuffers) giveBuffer(text []byte) {
	if cap(text) <= maxKeptBuffer {
		r.text = text
	}
}

// takeEncoder returns the empty encoder of w, like takeBuffer.
func (r *reusableBuffers) takeEncoder(w *Realm) *encoder {
	e := r.encoder
	if e == nil {
		return &encoder{realm: w}
	}
	r.encoder = nil
	return e
}

// giveEncoder returns an encoder for reuse. It drops the references to the objects that it has encoded.
func (r *reusableBuffers) giveEncoder(e *encoder) {
	if cap(e.buf) <= maxKeptBuffer {
		*e = encoder{realm: e.realm, buf: e.buf[:0]}
		r.encoder = e
	}
}

// copyToSlab copies a document.
func (r *reusableBuffers) copyToSlab(d []byte) []byte {
	if len(d) > slabSize/8 {
		return append([]byte(nil), d...)
	}
	if len(d) > cap(r.slab)-len(r.slab) {
		r.slab = make([]byte, 0, slabSize)
	}
	start := len(r.slab)
	r.slab = append(r.slab, d...)
	return r.slab[start:len(r.slab):len(r.slab)]
}
