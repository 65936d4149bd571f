package values

import "testing"

// Beyond the observed pairs: the rest of rules/04-values-and-language §4.7, its fixes, and what
// js-bson 7.3 does with the same arguments.
func TestConstructors(t *testing.T) {
	check(t, []expectation{
		{`ObjectId('507f1f77bcf86cd79943901z')`,
			`throws BSONError: input must be a 24 character hex string, 12 byte Uint8Array, or an integer`},
		{`ObjectId(new Uint8Array([1,2,3,4,5,6,7,8,9,10,11,12]))`, `ObjectId('0102030405060708090a0b0c')`},
		{`ObjectId(new Uint8Array(3))`, `throws BSONError: Argument passed in does not match the accepted types`},
		{`ObjectId(1).toString().slice(0, 8)`, `00000001`},
		{`ObjectId(ObjectId('507f1f77bcf86cd799439011'))`, `ObjectId('507f1f77bcf86cd799439011')`},
		{`ObjectId({id: '507f1f77bcf86cd799439011'})`, `ObjectId('507f1f77bcf86cd799439011')`},
		{`ObjectId({toHexString() { return '507f1f77bcf86cd799439011' }})`, `ObjectId('507f1f77bcf86cd799439011')`},
		{`ObjectId(null)._bsontype`, `ObjectId`},
		{`[ObjectId.isValid(5), ObjectId.isValid(null), ObjectId.isValid('507f1f77bcf86cd799439011'), ` +
			`ObjectId.isValid(ObjectId()), ObjectId.isValid({})]`, `[ false, false, true, true, false ]`},
		{`ObjectId.createFromHexString('a')`, `throws BSONError: hex string must be 24 characters`},
		{`ObjectId.createFromBase64('UH8fd7z4bNeZQ5AR')`, `ObjectId('507f1f77bcf86cd799439011')`},
		{`ObjectId.createFromBase64('a')`, `throws BSONError: base64 string must be 16 characters`},
		{`var id = ObjectId('507f1f77bcf86cd799439011'); [id.equals('507F1F77BCF86CD799439011'), id.equals(5), ` +
			`id.valueOf(), id.id.length]`, `[ true, false, '507f1f77bcf86cd799439011', 12 ]`},

		{`NumberLong('12x')`, `throws MongoshInvalidInputError: [COMMON-10001] "12x" is not a valid 64-bit integer ` +
			`(NumberLong)`},
		{`NumberLong('-9223372036854775808')`, `Long('-9223372036854775808')`},
		{`NumberLong(NumberLong('7'))`, `Long('7')`},
		{`[Long(9223372036854775807), Long(-9223372036854775808)].join()`,
			`9223372036854775807,-9223372036854775808`}, // as mongosh 2.12
		{`Long(2 ** 63 + 2048)`, `throws MongoshInvalidInputError: [COMMON-10001] "9223372036854778000" is not a ` +
			`valid 64-bit integer (Long)`},
		{`Long('abc')`, `throws MongoshInvalidInputError: [COMMON-10001] "abc" is not a valid 64-bit integer (Long)`},
		{`[Long(2**40), Long(-1), Long(5.9), Long(-5.9), Long(12345678901234567n), Long('1.9')]`, `[
  Long('1099511627776'),
  Long('-1'),
  Long('5'),
  Long('-5'),
  Long('12345678901234567'),
  Long('1')
]`},
		{`Long(1e30)`, `throws MongoshInvalidInputError: [COMMON-10001] "1e+30" is not a valid 64-bit integer (Long)`},
		{`Int32('x')`, `throws MongoshInvalidInputError: [COMMON-10001] "x" is not a valid 32-bit integer (Int32)`},
		{`NumberInt(NaN)`, `throws MongoshInvalidInputError: [COMMON-10001] "NaN" is not a valid 32-bit integer (NumberInt)`},
		{`[NumberInt(), NumberInt('-5'), NumberInt(NumberLong('6')), Int32(-0)]`,
			`[ Int32(0), Int32(-5), Int32(6), Int32(0) ]`},
		{`NumberInt(null)`, `throws MongoshInvalidInputError: [COMMON-10001] Argument value must be of type string ` +
			`or number or Long or Int32, got object instead (NumberInt)`},
		{`[Double('x'), Double(-0), Double('1e3'), Double(NumberLong('5'))]`,
			`[ Double(NaN), Double(-0), Double(1000), Double(5) ]`},
		{`[NumberLong('5').floatApprox, NumberLong('4294967297').top, NumberLong('4294967297').bottom]`, `[ 5, 1, 1 ]`},

		// js-bson 7.3
		{`Long.fromString('')`, `throws BSONError: empty string`},
		{`Long.fromStringStrict('12x')`, `throws BSONError: Input: '12x' contains invalid characters for radix: 10`},
		{`Long.fromStringStrict('99999999999999999999')`,
			`throws BSONError: Input: 99999999999999999999 is not representable as a signed 64-bit Long with radix: 10`},
		{`Long.fromStringStrict('-1', true)`,
			`throws BSONError: Input: -1 is not representable as an unsigned 64-bit Long with radix: 10`},
		{`[Long.fromString('ff', 16), Long.fromString('ff', false, 16)]`, `[ Long('255'), Long('255') ]`},
		{`Long.fromNumber(5).divide(0)`, `throws BSONError: division by zero`},
		{`[Long.MIN_VALUE.negate(), Long.MIN_VALUE.divide(-1), Long.fromNumber(-7).modulo(3), Long.fromNumber(NaN), ` +
			`Long.fromNumber(5).add(1.9)].join()`, `-9223372036854775808,-9223372036854775808,-1,0,6`},
		{`[Long.fromNumber(-1).toString(16), Long.fromNumber(5).compare('6'), Long.MAX_UNSIGNED_VALUE.toString(), ` +
			`Long.MAX_UNSIGNED_VALUE.gt(1)]`, `[ '-1', -1, '18446744073709551615', true ]`},
		{`Long.fromNumber(5).toString(40)`, `throws BSONError: radix`},
		{`[Long.MAX_UNSIGNED_VALUE.shiftRight(60), Long(-16).shiftRight(2), Long(-1).shiftRightUnsigned(60), ` +
			`Long(3).shl(62)].map(String)`, `[ '15', '-4', '15', '-4611686018427387904' ]`},
		{`[Long(6).and(3), Long(6).or(3), Long(6).xor(3), Long(6).not(), Long(-7).isNegative(), Long(0).isZero(), ` +
			`Long(7).isOdd()].join()`, `2,7,5,-7,true,true,true`},
		{`[Long(5).toBigInt(), Long(5).toInt(), Long.fromBits(1, 1).getHighBits(), Long.isLong(Long(1)), Long.isLong(1)]`,
			`[ 5n, 5, 1, true, false ]`},
		{`Decimal128('1E6145')`, `throws BSONError: "1E6145" is not a valid Decimal128 string - overflow`},
		{`NumberDecimal('1'.repeat(40))`,
			`throws BSONError: "1111111111111111111111111111111111111111" is not a valid Decimal128 string - inexact rounding`},
		{`Decimal128('1e-7000')`, `throws BSONError: "1e-7000" is not a valid Decimal128 string - exponent underflow`},
		{`Decimal128.fromStringWithRounding('1'.repeat(40))`, `Decimal128('1.111111111111111111111111111111111E+39')`},
		{`['2' + '5', '3' + '5', '2' + '50', '2' + '5001', '2' + '49', '2' + '6']` +
			`.map(end => Decimal128.fromStringWithRounding('1'.repeat(33) + end).toString().slice(30, 35)).join()`,
			`11112,11114,11112,11113,11112,11113`}, // ties to even, as mongosh 2.12 does
		{`[Decimal128('-inf'), Decimal128('nan'), Decimal128('.5'), Decimal128('+1'), Decimal128('-0.00')]`, `[
  Decimal128('-Infinity'),
  Decimal128('NaN'),
  Decimal128('0.5'),
  Decimal128('1'),
  Decimal128('-0.00')
]`},
		{`Decimal128(new Uint8Array(3))`, `throws BSONError: Decimal128 must take a Buffer of 16 bytes`},
		{`Decimal128(Decimal128('1.5').bytes)`, `Decimal128('1.5')`},
		{`Timestamp({t: 1, i: -1})`, `throws BSONError: Timestamp constructed from { t, i } must provide a positive i`},
		{`Timestamp({t: 2**32, i: 1})`,
			`throws BSONError: Timestamp constructed from { t, i } must provide t equal or less than uint32 max`},
		{`Timestamp({t: '1', i: 1})`, `throws BSONError: Timestamp constructed from { t, i } must provide t as a number`},
		{`[Timestamp(Long(2, 1)), Timestamp(4294967298n), Timestamp.fromBits(2, 1), Timestamp.fromString('4294967298'), ` +
			`Timestamp(null)]`, `[
  Timestamp({ t: 1, i: 2 }),
  Timestamp({ t: 1, i: 2 }),
  Timestamp({ t: 1, i: 2 }),
  Timestamp({ t: 1, i: 2 }),
  Timestamp({ t: 0, i: 0 })
]`},
		{`var ts = Timestamp(7, 3); [ts.getTime(), ts.getInc(), ts.high, ts.low, String(ts), ts.toNumber()]`,
			`[ 7, 3, 7, 3, '30064771075', 30064771075 ]`},
		{`Binary('a')`, `throws BSONError: Binary can only be constructed from Uint8Array or number[]`},
		{`Binary({})`, `throws BSONError: Cannot create Buffer from the passed potentialBuffer.`},
		{`[Binary(), Binary([300]), Binary([1, 2], 128)]`, `[
  Binary.createFromBase64('', 0),
  Binary.createFromBase64('LA==', 0),
  Binary.createFromBase64('AQI=', 128)
]`},
		{`Binary([1]).toUUID()`,
			`throws BSONError: Binary sub_type "0" (number) is not supported for converting to UUID. Only 0x04 is ` +
				`currently supported.`},
		{`DBRef('a.b', 1)`, `DBRef('b', 1, 'a')`},
		{`DBRef('c', 1, undefined, {x: 2})`, `DBRef('c', 1, { x: 2 })`},
		{`DBRef('c', 1, 5)`, `throws MongoshInvalidInputError: [COMMON-10001] Argument db must be of type ` +
			`string, got number instead (DBRef)`},
		{`DBRef('c')`, `throws MongoshInvalidInputError: [COMMON-10001] Missing required argument id (DBRef)`},

		{`BinData(300, 'aa')`, `throws MongoshInvalidInputError: [COMMON-10001] Binary subtype must be an integer between ` +
			`0 and 255, got 300 instead (BinData)`},
		{`HexData(0, 'xyz')`, `throws MongoshInvalidInputError: [COMMON-10001] "xyz" is not a valid hex string (HexData)`},
		{`MD5('xyz')`, `throws MongoshInvalidInputError: [COMMON-10001] "xyz" is not a valid hex string (MD5)`},
		{`UUID('0123')`, `throws MongoshInvalidInputError: [COMMON-10001] "0123" is not a valid UUID (UUID)`},
		{`var b = BinData(0, 'aGk='); [b.base64(), b.hex(), b.subtype(), b.length(), b.toString(), b.toString('hex'), ` +
			`b.buffer.length].join()`, `aGk=,6869,0,2,hi,6869,2`},
		{`var u = UUID('0123456789abcdef0123456789ABCDEF'); [u.hex(), String(u), u.toHexString(), u.toHexString(false), ` +
			`u.equals(String(u)), u.sub_type]`, `[
  '0123456789abcdef0123456789abcdef',
  '01234567-89ab-cdef-0123-456789abcdef',
  '01234567-89ab-cdef-0123-456789abcdef',
  '0123456789abcdef0123456789abcdef',
  true,
  4
]`},
		// the byte orders of the old Java and C# drivers
		{`LegacyJavaUUID('00112233-4455-6677-8899-aabbccddeeff').hex()`, `7766554433221100ffeeddccbbaa9988`},
		{`LegacyCSharpUUID('00112233-4455-6677-8899-aabbccddeeff').hex()`, `33221100554477668899aabbccddeeff`},
		{`var p = LegacyPythonUUID('00112233-4455-6677-8899-aabbccddeeff'); [p.hex(), p.sub_type]`,
			`[ '00112233445566778899aabbccddeeff', 3 ]`},
		{`Binary.fromInt8Array(new Int8Array([1, -2]))`, `Binary.fromInt8Array(new Int8Array([ 1, -2 ]))`},
		{`Binary.fromFloat32Array(new Float32Array([1.5, -2]))`, `Binary.fromFloat32Array(new Float32Array([ 1.5, -2 ]))`},
		{`Binary.fromFloat32Array([1, , 2])`, `Binary.fromFloat32Array(new Float32Array([ 1, NaN, 2 ]))`},
		{`Binary.fromInt8Array([1, , 2])`, `Binary.fromInt8Array(new Int8Array([ 1, 0, 2 ]))`},
		{`Binary.fromPackedBits(new Uint8Array([1, 255]))`, `Binary.fromPackedBits(new Uint8Array([ 1, 255 ]))`},
		{`EJSON.stringify(Binary.fromInt8Array(new Int8Array([1]), 3))`, `{"$binary":{"base64":"AwAB","subType":"09"}}`},
		{`Binary.fromInt8Array(new Int8Array([1, -2])).toInt8Array()`, `Int8Array(2) [ 1, -2 ]`},

		{`Code(5)`, `throws MongoshInvalidInputError: [COMMON-10001] Argument code must be of type string or ` +
			`function, got number instead (Code)`},
		{`BSONRegExp('a', 'xi')`, `BSONRegExp('a', 'ix')`},
		{`bsonsize(null)`, `throws TypeError: Cannot convert undefined or null to object`},
		{`bsonsize([1])`, `throws BSONError: serialize does not support an array as the root input`},

		{`ISODate('2024-02-29')`, `ISODate('2024-02-29T00:00:00.000Z')`},
		{`ISODate('2023-02-29')`, `throws MongoshInvalidInputError: [COMMON-10001] "2023-02-29" is not a valid ISODate`},
		{`ISODate('2024-01-02T24:00:00Z')`, `ISODate('2024-01-03T00:00:00.000Z')`},
		{`ISODate('2024-01-02T25:00')`,
			`throws MongoshInvalidInputError: [COMMON-10001] "2024-01-02T25:00" is not a valid ISODate`},
		{`ISODate('2024-01-02T03:04:05.6-0530')`, `ISODate('2024-01-02T08:34:05.600Z')`},
		{`ISODate(new Date(5))`, `ISODate('1970-01-01T00:00:00.005Z')`},
	})
}

// What mongosh 2.12 prints.
func TestInspectMethod(t *testing.T) {
	check(t, []expectation{
		{`ObjectId('65a0c0ffee65a0c0ffee65a0').inspect()`, `ObjectId("65a0c0ffee65a0c0ffee65a0")`},
		{`UUID('00112233-4455-6677-8899-aabbccddeeff').inspect()`, `UUID('00112233-4455-6677-8899-aabbccddeeff')`},
		{`[Long(1), new Long(5, 0, true), Int32(1), Double(1.5), Decimal128('1')].map(v => v.inspect()).join()`,
			`Long("1"),Long("5", true),Int32(1),Double(1.5),Decimal128("1")`},
		{`[Timestamp(1, 2), MinKey(), MaxKey()].map(v => v.inspect()).join()`,
			`Timestamp({ t: 1, i: 2 }),MinKey(),MaxKey()`},
		{`[BinData(0, 'YQ=='), MD5('aa'), HexData(6, 'aabb')].map(v => v.inspect()).join()`,
			`Binary.createFromBase64("YQ==", 0),MD5('aa'),Binary.createFromBase64("qrs=", 6)`},
		{`Code('a"', {b: ObjectId('65a0c0ffee65a0c0ffee65a0')}).inspect()`,
			`Code("a\"", {"b":"65a0c0ffee65a0c0ffee65a0"})`},
		{`[Code('1'), BSONRegExp('a', 'i'), BSONSymbol('a"b')].map(v => v.inspect()).join()`,
			`Code("1"),BSONRegExp("a", "i"),BSONSymbol("a\"b")`},
		{`DBRef('a', 'x').inspect() + DBRef('a', ObjectId('65a0c0ffee65a0c0ffee65a0'), 'db').inspect()`,
			`DBRef("a", new ObjectId("x"))DBRef("a", new ObjectId("65a0c0ffee65a0c0ffee65a0"), "db")`},
	})
}

// A reference is the one BSON value whose fields can be set.
func TestDBRefIsSet(t *testing.T) {
	check(t, []expectation{
		{`var r = DBRef('a', 1); r.collection = 'b'; r.oid = 2; r.db = 'c'; r`, `DBRef('b', 2, 'c')`},
		{`var r = DBRef('a', 1, 'd'); r.$ref = 'b'; r.$id = 2; r.$db = undefined; [r.collection, r.oid, r.db]`,
			`[ 'b', 2, undefined ]`},
	})
}

// rules/04-values-and-language §4.8.
func TestArithmetic(t *testing.T) {
	check(t, []expectation{
		{`NumberLong('9223372036854775807') > NumberLong('9223372036854773759')`, `true`}, // the next number below
		{`NumberLong('9223372036854775807').gt(NumberLong('9223372036854775806'))`, `true`},
		{`NumberLong('9223372036854775807') > 5`, `true`},
		{`NumberLong('9007199254740993').add(NumberLong('9007199254740993'))`, `Long('18014398509481986')`},
		{`typeof (NumberLong('9007199254740991') + 0)`, `number`},
		{`Timestamp(10, 0) < Timestamp(9, 0)`, `false`},
		{`Timestamp(2**31, 0) > Timestamp(1, 0)`, `true`},
		{`NumberDecimal('1.5') * 2 + NumberDecimal('0.25')`, `3.25`},
		{`NumberDecimal('123456789012345678901234567890') > NumberDecimal('-123456789012345678901234567889')`, `true`},
		{`NumberDecimal('Infinity') + 1`, `Infinity`},
		{`NumberLong('5') == '5' && NumberInt(5) == 5 && Double(5) == 5`, `true`},
		{`'n=' + NumberLong('7')`, `n=7`},
		{`[NumberLong('3'), NumberLong('20')].reduce((a, b) => a + b, 0)`, `23`},
		{`Number(NumberLong('7')) + Number(NumberDecimal('0.5'))`, `7.5`},
	})
}
