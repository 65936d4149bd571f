package keyorder

// EncodedSize returns the length of the first value in a sequence of encodings. It returns 0 when the
// sequence is empty or truncated.
func EncodedSize[T ~string | ~[]byte](enc T) int {
	n := encodedSize(enc)
	if n > len(enc) {
		return 0
	}
	return n
}

// encodedSize may return more than the length of enc when the encoding is truncated.
func encodedSize[T ~string | ~[]byte](enc T) int {
	if len(enc) == 0 {
		return 0
	}
	switch tag := enc[0]; tag {
	case tagMinKey, tagUndefined, tagNull, tagNaN, tagNegativeInfinity, tagPositiveInfinity, tagZero,
		tagFalse, tagTrue, tagMaxKey:
		return 1
	case tagDate, tagTimestamp:
		return 9
	case tagObjectID:
		return 13
	case tagString, tagCode:
		return addSize(1, escapedSize(enc[1:]))
	case tagRegex:
		return sumSizes(enc, 1, escapedSize[T], escapedSize[T])
	case tagObject:
		return addSize(1, objectSize(enc[1:]))
	case tagScope:
		return sumSizes(enc, 1, escapedSize[T], objectSize[T])
	case tagArray:
		return addSize(1, arraySize(enc[1:]))
	case tagBinary:
		return binarySize(enc)
	case tagDBPointer:
		if len(enc) < 5 {
			return 0
		}
		return 17 + int(bigEndian(enc[1:5]))
	default:
		return numberSize(tag, enc)
	}
}

// addSize adds the size of a prefix to a size, which is 0 when it is unknown.
func addSize(head, n int) int {
	if n == 0 {
		return 0
	}
	return head + n
}

// sumSizes sums the sizes of consecutive parts.
func sumSizes[T ~string | ~[]byte](enc T, at int, parts ...func(T) int) int {
	for _, part := range parts {
		n := part(enc[at:])
		if n == 0 {
			return 0
		}
		at += n
	}
	return at
}

// escapedSize includes the closing zero.
func escapedSize[T ~string | ~[]byte](enc T) int {
	for i := range len(enc) {
		if enc[i] == 0 {
			return i + 1
		}
	}
	return 0
}

func objectSize[T ~string | ~[]byte](enc T) int {
	at := 0
	for at < len(enc) {
		if enc[at] == 0 {
			return at + 1
		}
		if at = sumSizes(enc, at+1, escapedSize[T], EncodedSize[T]); at == 0 {
			return 0
		}
	}
	return 0
}

func arraySize[T ~string | ~[]byte](enc T) int {
	at := 0
	for at < len(enc) {
		if enc[at] == 0 {
			return at + 1
		}
		n := EncodedSize(enc[at:])
		if n == 0 {
			return 0
		}
		at += n
	}
	return 0
}

func binarySize[T ~string | ~[]byte](enc T) int {
	switch {
	case len(enc) < 2:
		return 0
	case enc[1] < 0xff:
		return 3 + int(enc[1])
	case len(enc) < 6:
		return 0
	}
	return 7 + int(bigEndian(enc[2:6]))
}

// integerSize returns the number of bytes of the integer part, 0 for a number
// without one.
func integerSize(tag byte) int {
	switch {
	case tag >= tagPositiveInt && tag < tagPositiveLarge:
		return int(tag-tagPositiveInt) + 1
	case tag >= tagNegativeInt && tag < tagNegativeSmall:
		return int(tagNegativeSmall - tag)
	}
	return 0
}

func numberSize[T ~string | ~[]byte](tag byte, enc T) int {
	if tag < tagNegativeLarge || tag > tagPositiveLarge {
		return 0
	}
	var flip byte
	if tag < tagZero {
		flip = 0xff
	}
	more := func(at int) bool { return at < len(enc) && (enc[at]^flip)&1 == 1 }
	n := 9
	if whole := integerSize(tag); whole > 0 {
		n = 1 + whole
		if !more(n - 1) {
			return n
		}
		n += 7
	}
	if !more(n - 1) {
		return n
	}
	// The digits of a decimal, after two bytes of magnitude.
	for n += 2; n < len(enc); n++ {
		if enc[n]^flip == 0 {
			return n + 1
		}
	}
	return 0
}
