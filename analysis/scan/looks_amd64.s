#include "go_asm.h"
#include "textflag.h"

// Assembly because the Go compiler has no vectors (simd/archsimd is an experiment and outside the promise of Go 1): sixteen
// words are hashed at once and their looks are compared at once, without a branch. The looks themselves are taken one by
// one: a processor's gather takes twice as long on AMD's, and much longer where Intel's are protected from Downfall
// (CVE-2022-40982). What the instructions do: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.

// Of sixteen bytes the four words that begin three bytes apart.
DATA words<>+0(SB)/8, $0x0605040303020100
DATA words<>+8(SB)/8, $0x0c0b0a0909080706
GLOBL words<>(SB), RODATA|NOPTR, $16

// Where the bytes behind the words stand in each sixteen, so that those of four sixteens stand side by side.
DATA behind3<>+0(SB)/8, $0xffffffff0d0a0704
DATA behind3<>+8(SB)/8, $0xffffffffffffffff
DATA behind3<>+16(SB)/8, $0x0d0a0704ffffffff
DATA behind3<>+24(SB)/8, $0xffffffffffffffff
DATA behind3<>+32(SB)/8, $0xffffffffffffffff
DATA behind3<>+40(SB)/8, $0xffffffff0d0a0704
DATA behind3<>+48(SB)/8, $0xffffffffffffffff
DATA behind3<>+56(SB)/8, $0x0d0a0704ffffffff
GLOBL behind3<>(SB), RODATA|NOPTR, $64

DATA behind4<>+0(SB)/8, $0xffffffff0c080400
DATA behind4<>+8(SB)/8, $0xffffffffffffffff
DATA behind4<>+16(SB)/8, $0x0c080400ffffffff
DATA behind4<>+24(SB)/8, $0xffffffffffffffff
DATA behind4<>+32(SB)/8, $0xffffffffffffffff
DATA behind4<>+40(SB)/8, $0xffffffff0c080400
DATA behind4<>+48(SB)/8, $0xffffffffffffffff
DATA behind4<>+56(SB)/8, $0x0c080400ffffffff
GLOBL behind4<>(SB), RODATA|NOPTR, $64

// The bit of a byte behind a word, by its lower four bits; see follow.
DATA bits<>+0(SB)/8, $0x8040201008040201
DATA bits<>+8(SB)/8, $0x8040201008040201
GLOBL bits<>(SB), RODATA|NOPTR, $16
DATA low<>+0(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA low<>+8(SB)/8, $0x0f0f0f0f0f0f0f0f
GLOBL low<>(SB), RODATA|NOPTR, $16

// DI flags, SI text, CX vectors that are left, DX bits; Y15 factor of the hash, Y14 and Y13 where the bytes behind are, X12
// their bits, X11 what they are found by, X10 zero.
#define SETUP(behind) \
	MOVQ flags+0(FP), DI \
	MOVQ b+8(FP), SI \
	MOVQ n+16(FP), CX \
	MOVQ met+24(FP), DX \
	MOVL $const_hashMul, AX \
	VMOVD AX, X15 \
	VPBROADCASTD X15, Y15 \
	VMOVDQU behind<>+0(SB), Y14 \
	VMOVDQU behind<>+32(SB), Y13 \
	VMOVDQU bits<>(SB), X12 \
	VMOVDQU low<>(SB), X11 \
	VPXOR X10, X10, X10

// FLAGS takes two looks, whose hashes are in r.
#define FLAGS(at, x, r) \
	MOVL r, BX \
	SHRQ $32, r \
	VPINSRB $at, (DI)(BX*1), x, x \
	VPINSRB $(at+1), (DI)(r*1), x, x

// LOOK looks up the words of Y0 and Y4: AX gets a bit for each of which the table has the bit of the byte behind it. Y1 and Y5
// hold these bytes.
#define LOOK \
	VPMULLD Y15, Y0, Y0 \
	VPMULLD Y15, Y4, Y4 \
	VPSRLD $(32-const_hashLog), Y0, Y0 \
	VPSRLD $(32-const_hashLog), Y4, Y4 \
	VEXTRACTI128 $1, Y0, X6 \
	VEXTRACTI128 $1, Y4, X7 \
	VMOVQ X0, R8 \
	VMOVQ X4, R9 \
	VPEXTRQ $1, X0, R10 \
	VPEXTRQ $1, X4, R11 \
	VMOVQ X6, R12 \
	VMOVQ X7, R13 \
	VPEXTRQ $1, X6, AX \
	VPEXTRQ $1, X7, R15 \
	VPSHUFB Y14, Y1, Y1 \
	VPSHUFB Y13, Y5, Y5 \
	VPOR Y5, Y1, Y1 \
	VEXTRACTI128 $1, Y1, X5 \
	VPOR X5, X1, X1 \
	VPAND X11, X1, X1 \
	VPSHUFB X1, X12, X1 \
	VPXOR X2, X2, X2 \
	VPXOR X3, X3, X3 \
	FLAGS(0, X2, R8) \
	FLAGS(8, X3, R9) \
	FLAGS(2, X2, R10) \
	FLAGS(10, X3, R11) \
	FLAGS(4, X2, R12) \
	FLAGS(12, X3, R13) \
	FLAGS(6, X2, AX) \
	FLAGS(14, X3, R15) \
	VPOR X3, X2, X2 \
	VPAND X2, X1, X1 \
	VPCMPEQB X10, X1, X1 \
	VPMOVMSKB X1, AX \
	NOTL AX

// func looks3(flags *uint8, b *byte, n int, met *uint64)
TEXT ·looks3(SB), NOSPLIT, $0-32
	SETUP(behind3)
	VBROADCASTI128 words<>(SB), Y9
loop:
	VMOVDQU (SI), X1
	VINSERTI128 $1, 12(SI), Y1, Y1
	VMOVDQU 24(SI), X5
	VINSERTI128 $1, 36(SI), Y5, Y5
	VPSHUFB Y9, Y1, Y0
	VPSHUFB Y9, Y5, Y4
	LOOK
	MOVW AX, (DX)
	ADDQ $48, SI
	ADDQ $2, DX
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// func looks4(flags *uint8, b *byte, n int, met *uint64)
TEXT ·looks4(SB), NOSPLIT, $0-32
	SETUP(behind4)
loop:
	VMOVDQU (SI), Y0
	VMOVDQU 4(SI), Y1
	VMOVDQU 32(SI), Y4
	VMOVDQU 36(SI), Y5
	LOOK
	MOVW AX, (DX)
	ADDQ $64, SI
	ADDQ $2, DX
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET
