// Numbers as the program prints them. Amounts may be Number or BigInt (above 2^53).
const binary = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// 2302672896 -> "2,302,672,896"
export function grouped(number) {
  return String(number).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/// 70272 -> "70,272 B"
export function exact(bytes) {
  return grouped(bytes) + " B";
}

/// 2302672896 -> "2.145 GiB": the largest binary unit that leaves at least 1, three digits, halves to even.
export function amount(bytes) {
  const whole = BigInt(bytes);
  let step = 0;
  while (step + 1 < binary.length && whole >> BigInt(10 * (step + 1)) > 0n) ++step;
  if (step === 0) return exact(bytes);
  const unit = 1n << BigInt(10 * step);
  let thousandths = (whole * 1000n) / unit;
  const rest = 2n * ((whole * 1000n) % unit);
  if (rest > unit || (rest === unit && thousandths % 2n === 1n)) ++thousandths;
  const digits = String(thousandths % 1000n).padStart(3, "0");
  return `${grouped(thousandths / 1000n)}.${digits} ${binary[step]}`;
}

/// 32768 -> "32k", 1048576 -> "1m", 1000 -> "1000"
export function short(count) {
  const value = Number(count);
  if (value >= 1048576 && value % 1048576 === 0) return value / 1048576 + "m";
  if (value >= 1024 && value % 1024 === 0) return value / 1024 + "k";
  return String(value);
}

/// "32k" -> 32768, as the program reads it; NaN for anything else (the program then says why).
export function countOf(text) {
  const match = /^([0-9]+)([kKmM]?)$/.exec(String(text).replace(/[_,]/g, "").trim());
  if (!match) return NaN;
  return Number(match[1]) * (match[2] === "" ? 1 : /k/i.test(match[2]) ? 1024 : 1048576);
}

/// [0, 1, 2, 5, 7, 8] -> "0-2, 5, 7-8"
export function ranges(numbers) {
  const parts = [];
  for (let i = 0; i < numbers.length;) {
    let last = i;
    while (last + 1 < numbers.length && numbers[last + 1] === numbers[last] + 1) ++last;
    parts.push(last === i ? `${numbers[i]}` : `${numbers[i]}-${numbers[last]}`);
    i = last + 1;
  }
  return parts.join(", ");
}

/// The same, with the middle left out where there are many parts.
export function shortRanges(numbers, most = 6) {
  const parts = ranges(numbers).split(", ");
  return parts.length <= most
    ? parts.join(", ")
    : [...parts.slice(0, most - 2), "…", parts[parts.length - 1]].join(", ");
}

export function sum(values) {
  return values.reduce((a, b) => (typeof a === typeof b ? a + b : BigInt(a) + BigInt(b)), 0);
}

export function largest(values) {
  return values.reduce((a, b) => (b > a ? b : a), 0);
}

/// Integers above 2^53 become BigInt, where the browser tells their text.
export function parseExact(text) {
  return JSON.parse(text, (key, value, context) => {
    const inexact =
      typeof value === "number" && !Number.isSafeInteger(value) && context && /^-?\d+$/.test(context.source);
    return inexact ? BigInt(context.source) : value;
  });
}
