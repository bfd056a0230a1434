#include "go_asm.h"
#include "textflag.h"

// Assembly because the Go compiler has no vectors (simd/archsimd is an experiment and outside the promise of Go 1): eight
// words are hashed and looked up at once, without a branch. What the instructions do: Intel 64 and IA-32 Architectures
// Software Developer's Manual, volume 2.

// Of sixteen bytes the four words that begin three bytes apart, and the byte behind each of them.
DATA words<>+0(SB)/8, $0x0605040303020100
DATA words<>+8(SB)/8, $0x0c0b0a0909080706
GLOBL words<>(SB), RODATA|NOPTR, $16
DATA behind<>+0(SB)/8, $0xffffff07ffffff04
DATA behind<>+8(SB)/8, $0xffffff0dffffff0a
GLOBL behind<>(SB), RODATA|NOPTR, $16

// DI flags, SI text, CX vectors that are left, DX bits; Y15 factor of the hash, Y14 and Y13 what turns the byte behind a
// word into how far its bit is from the sign.
#define SETUP \
	MOVQ flags+0(FP), DI \
	MOVQ b+8(FP), SI \
	MOVQ n+16(FP), CX \
	MOVQ met+24(FP), DX \
	MOVL $const_hashMul, AX \
	VMOVD AX, X15 \
	VPBROADCASTD X15, Y15 \
	MOVL $7, AX \
	VMOVD AX, X14 \
	VPBROADCASTD X14, Y14 \
	MOVL $24, AX \
	VMOVD AX, X13 \
	VPBROADCASTD X13, Y13

// LOOK looks up the words w: the mask gets a bit for each of which the table has the bit of the byte behind it, which
// is what c holds. w, c, all and f are overwritten.
#define LOOK(w, c, all, f, mask) \
	VPMULLD Y15, w, w \
	VPSRLD $(32-const_hashLog), w, w \
	VPCMPEQD all, all, all \
	VPXOR f, f, f \
	VPGATHERDD all, (DI)(w*1), f \
	VPANDN Y14, c, c \
	VPOR Y13, c, c \
	VPSLLVD c, f, f \
	VMOVMSKPS f, mask

// func gather3(flags *uint8, b *byte, n int, met *uint64)
TEXT ·gather3(SB), NOSPLIT, $0-32
	SETUP
	VBROADCASTI128 words<>(SB), Y12
	VBROADCASTI128 behind<>(SB), Y11
loop:
	VMOVDQU (SI), X0
	VINSERTI128 $1, 12(SI), Y0, Y0
	VMOVDQU 24(SI), X4
	VINSERTI128 $1, 36(SI), Y4, Y4
	VPSHUFB Y11, Y0, Y1
	VPSHUFB Y12, Y0, Y0
	VPSHUFB Y11, Y4, Y5
	VPSHUFB Y12, Y4, Y4
	LOOK(Y0, Y1, Y2, Y3, AX)
	LOOK(Y4, Y5, Y6, Y7, BX)
	SHLL $8, BX
	ORL BX, AX
	MOVW AX, (DX)
	ADDQ $48, SI
	ADDQ $2, DX
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// func gather4(flags *uint8, b *byte, n int, met *uint64)
TEXT ·gather4(SB), NOSPLIT, $0-32
	SETUP
loop:
	VMOVDQU (SI), Y0
	VMOVDQU 4(SI), Y1
	VMOVDQU 32(SI), Y4
	VMOVDQU 36(SI), Y5
	LOOK(Y0, Y1, Y2, Y3, AX)
	LOOK(Y4, Y5, Y6, Y7, BX)
	SHLL $8, BX
	ORL BX, AX
	MOVW AX, (DX)
	ADDQ $64, SI
	ADDQ $2, DX
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET
