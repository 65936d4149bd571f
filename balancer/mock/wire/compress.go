package wire

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// compressor is the id of a compressor in OP_COMPRESSED.
type compressor byte

const (
	noCompressor compressor = iota // uncompressed
	snappyCompressor
	zlibCompressor
	zstdCompressor
)

// compressorNames returns the names of the compressors in hello, in the default order of a server.
func compressorNames() []string { return []string{"snappy", "zstd", "zlib"} }

// CommonCompressors returns the offered compressors that this package supports, in the client's order.
func CommonCompressors(offered []string) []string {
	var common []string
	for _, name := range offered {
		if slices.Contains(compressorNames(), name) && !slices.Contains(common, name) {
			common = append(common, name)
		}
	}
	return common
}

const (
	// compressedHeaderBytes is the size of the fields before the compressed message: the original
	// opcode, the uncompressed size, and the compressor id.
	compressedHeaderBytes = 9
	// maxSnappyRatio is above the maximum compression ratio of snappy, which compresses 64 bytes to
	// three.
	maxSnappyRatio = 22
	// zstdWindowBytes is the maximum window size of zstd; drivers use 8 MiB.
	zstdWindowBytes = 8 << 20
)

// inflatedBytes returns the uncompressed size in the header of an OP_COMPRESSED message.
func inflatedBytes(payload []byte) int32 {
	if len(payload) < compressedHeaderBytes {
		return 0
	}
	return int32(binary.LittleEndian.Uint32(payload[4:]))
}

// inflate decompresses an OP_COMPRESSED message. It fails above limit, and allocates memory only as data
// is decompressed.
func inflate(h header, payload []byte, limit int32) (header, []byte, compressor, error) {
	if len(payload) < compressedHeaderBytes {
		return h, nil, 0, malformed("OP_COMPRESSED cut short")
	}
	op := opcode(binary.LittleEndian.Uint32(payload))
	size := int32(binary.LittleEndian.Uint32(payload[4:]))
	by, data := compressor(payload[8]), payload[compressedHeaderBytes:]
	if op == opCompressed || !op.isKnown() {
		return h, nil, 0, malformed("OP_COMPRESSED of opcode %d", op)
	}
	if size < 0 || size > limit-headerBytes {
		return h, nil, 0, malformed("OP_COMPRESSED of %d bytes", size)
	}
	out, err := by.inflate(data, int(size))
	if err != nil {
		return h, nil, 0, malformed("OP_COMPRESSED: %s", err)
	}
	h.op, h.length = op, headerBytes+size
	return h, out, by, nil
}

var (
	errInflatedSize      = errors.New("the size of the message differs from its header")
	errUnknownCompressor = errors.New("unknown compressor")
)

func (c compressor) inflate(data []byte, size int) ([]byte, error) {
	switch c {
	case snappyCompressor:
		n, err := snappy.DecodedLen(data)
		if err == nil && (n != size || n > maxSnappyRatio*len(data)) {
			err = errInflatedSize
		}
		if err != nil {
			return nil, err
		}
		return snappy.Decode(nil, data)
	case zlibCompressor:
		r, err := zlib.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		return readExactly(r, size)
	case zstdCompressor:
		r, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdWindowBytes))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return readExactly(r, size)
	}
	return nil, fmt.Errorf("%w: %d", errUnknownCompressor, c)
}

// readExactly reads size bytes and fails if more follow.
func readExactly(r io.Reader, size int) ([]byte, error) {
	out, err := readPayload(r, size)
	if err != nil {
		return nil, err
	}
	if n, err := r.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
		return nil, errInflatedSize
	}
	return out, nil
}

// compressorPools pools compressors, because creating one costs more than using it. The zero value is
// ready for use.
type compressorPools struct{ zlib, zstd sync.Pool }

// deflate compresses a whole message to an OP_COMPRESSED message and appends it to dst, which is empty.
func (p *compressorPools) deflate(c compressor, dst, message []byte) ([]byte, error) {
	h, payload := parseHeader(message), message[headerBytes:]
	dst = appendHeader(dst, h.requestID, h.responseTo, opCompressed)
	dst = appendInt32(appendInt32(dst, int32(h.op)), int32(len(payload)))
	dst = append(dst, byte(c))
	var err error
	switch c {
	case snappyCompressor:
		dst = append(dst, snappy.Encode(nil, payload)...)
	case zlibCompressor:
		dst, err = p.appendZlib(dst, payload)
	case zstdCompressor:
		dst, err = p.appendZstd(dst, payload)
	default:
		err = fmt.Errorf("%w: %d", errUnknownCompressor, c)
	}
	return finishMessage(dst), err
}

func (p *compressorPools) appendZlib(dst, payload []byte) ([]byte, error) {
	to := &appender{dst}
	z, kept := p.zlib.Get().(*zlib.Writer)
	if !kept {
		z = zlib.NewWriter(to)
	}
	z.Reset(to)
	if _, err := z.Write(payload); err != nil {
		return dst, err
	}
	if err := z.Close(); err != nil {
		return dst, err
	}
	p.zlib.Put(z)
	return to.b, nil
}

func (p *compressorPools) appendZstd(dst, payload []byte) ([]byte, error) {
	z, kept := p.zstd.Get().(*zstd.Encoder)
	if !kept {
		var err error
		z, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
			zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20))
		if err != nil {
			return dst, err
		}
	}
	dst = z.EncodeAll(payload, dst)
	p.zstd.Put(z)
	return dst, nil
}

// appender is a writer that appends to a slice.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}
