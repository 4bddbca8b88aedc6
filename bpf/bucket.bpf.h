/* SPDX-License-Identifier: GPL-2.0 */
/* The bucket of a value in a histogram (common/io_op.h). */
#ifndef JOBIO_BPF_BUCKET_H
#define JOBIO_BPF_BUCKET_H

/* Number of significant bits of a byte: 0 for 0, 8 for 255. */
#define TIMES_4(n) n, n, n, n
#define TIMES_16(n) TIMES_4(n), TIMES_4(n), TIMES_4(n), TIMES_4(n)
#define TIMES_64(n) TIMES_16(n), TIMES_16(n), TIMES_16(n), TIMES_16(n)
static const volatile __u8 bits_of_byte[256] = {
    0,           1,           2,           2,           TIMES_4(3),  TIMES_4(4),  TIMES_4(4),
    TIMES_16(5), TIMES_16(6), TIMES_16(6), TIMES_64(7), TIMES_64(8), TIMES_64(8),
};

/* Hide the bound from the compiler, so that it keeps the check that the verifier needs. */
static __always_inline __u64 bits_of(__u64 byte)
{
    asm volatile("%0 &= 255" : "+r"(byte));
    return bits_of_byte[byte];
}

/* Bucket i holds unit * 2^(i-1) < value <= unit * 2^i, where unit is 2^unit_bits. Bucket 0 holds
 * all smaller values, the last one all larger values. */
static __always_inline __u64 bucket_of(__u64 value, __u32 unit_bits)
{
    __u64 rest = value ? (value - 1) >> unit_bits : 0, bucket;

    if (rest < 1 << 8)
        bucket = bits_of(rest);
    else if (rest < 1 << 16)
        bucket = 8 + bits_of(rest >> 8);
    else if (rest < 1 << 24)
        bucket = 16 + bits_of(rest >> 16);
    else
        bucket = rest >> (IO_BUCKETS - 2) ? IO_BUCKETS - 1 : 24 + bits_of(rest >> 24);
    asm volatile("%0 &= 31" : "+r"(bucket));
    return bucket;
}

#endif
