//go:build !purego

#include "textflag.h"

// Constants for folding by 1024, 256 and 128 bits: x^(D+32) and x^(D-32) modulo the
// polynomial of CRC-32, bits reversed and shifted left by one (Gopal et al., "Fast
// CRC computation for generic polynomials using PCLMULQDQ instruction", Intel 2009).
DATA fold1024<>+0(SB)/8, $0x1e88ef372
DATA fold1024<>+8(SB)/8, $0x14a7fe880
GLOBL fold1024<>(SB), RODATA|NOPTR, $16
DATA fold256<>+0(SB)/8, $0x0f1da05aa
DATA fold256<>+8(SB)/8, $0x15a546366
GLOBL fold256<>(SB), RODATA|NOPTR, $16
DATA fold128<>+0(SB)/8, $0x1751997d0
DATA fold128<>+8(SB)/8, $0x0ccaa009e
GLOBL fold128<>(SB), RODATA|NOPTR, $16

// FOLD moves Y register a on by the constant in Y8 and adds b.
#define FOLD(a, b) \
	VPCLMULQDQ $0x00, Y8, a, Y4 \
	VPCLMULQDQ $0x11, Y8, a, a  \
	VPXOR      b, Y4, Y4        \
	VPXOR      Y4, a, a

// func foldBlocks(state uint32, p *byte, n int, out *[16]byte)
TEXT ·foldBlocks(SB), NOSPLIT, $0-32
	MOVL  state+0(FP), AX
	MOVQ  p+8(FP), SI
	MOVQ  n+16(FP), CX
	MOVQ  out+24(FP), DI

	VMOVDQU        (SI), Y0
	VMOVDQU        32(SI), Y1
	VMOVDQU        64(SI), Y2
	VMOVDQU        96(SI), Y3
	VMOVD          AX, X4
	VPXOR          Y4, Y0, Y0
	VBROADCASTI128 fold1024<>(SB), Y8
	SUBQ           $128, CX

loop:
	JEQ  combine
	ADDQ $128, SI
	FOLD(Y0, (SI))
	FOLD(Y1, 32(SI))
	FOLD(Y2, 64(SI))
	FOLD(Y3, 96(SI))
	SUBQ $128, CX
	JMP  loop

combine:
	VBROADCASTI128 fold256<>(SB), Y8
	FOLD(Y0, Y1)
	FOLD(Y0, Y2)
	FOLD(Y0, Y3)
	VEXTRACTI128   $1, Y0, X1
	VMOVDQU        fold128<>(SB), X8
	VPCLMULQDQ     $0x00, X8, X0, X4
	VPCLMULQDQ     $0x11, X8, X0, X0
	VPXOR          X4, X1, X1
	VPXOR          X0, X1, X1
	VMOVDQU        X1, (DI)
	VZEROUPPER
	RET

// func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL subleaf+4(FP), CX
	CPUID
	MOVL AX, eax+8(FP)
	MOVL BX, ebx+12(FP)
	MOVL CX, ecx+16(FP)
	MOVL DX, edx+20(FP)
	RET

// func xgetbv() (eax uint32)
TEXT ·xgetbv(SB), NOSPLIT, $0-4
	XORL CX, CX
	XGETBV
	MOVL AX, eax+0(FP)
	RET
