import type { calls as english } from '../english/calls.ts';

/** Texts of the calls page. */
export const calls: typeof english = {
  empty: 'لا توجد مكالمات بعد',
  emptyText:
    'تظهر المكالمات هنا عندما يبلّغ عنها مزوّد الخدمة أو يجريها هاتف برمجي أو خط SIP. يضيف المسؤول مزوّد الخدمة في الإعدادات.',
  addCarrier: 'إضافة مزوّد خدمة',
  noMatch: 'لا توجد مكالمة تطابق هذه المرشّحات.',
  today: 'مكالمات اليوم',
  minutes: 'دقائق اليوم',
  answered: 'تم الرد، آخر 7 أيام',
  noRate: 'لا مكالمات واردة',
  direction: 'الاتجاه',
  allDirections: 'كل الاتجاهات',
  directions: {
    inbound: 'واردة',
    outbound: 'صادرة',
  },
  result: 'النتيجة',
  allResults: 'كل النتائج',
  results: {
    answered: 'تم الرد',
    missed: 'فائتة',
    busy: 'مشغول',
    failed: 'فشلت',
    voicemail: 'بريد صوتي',
    cancelled: 'أُلغيت',
  },
  states: {
    queued: 'في الانتظار',
    ringing: 'يرن',
    in_progress: 'جارية',
    ended: 'انتهت',
  },
  from: 'من',
  to: 'إلى',
  started: 'البداية',
  talk: 'مدة الحديث',
  quality: 'الجودة',
  rang: 'رنّ {duration}',
  mos: 'الجودة {score}',
  export: 'تصدير CSV',
  openPhone: 'افتح الهاتف',
  unknown: 'غير معروف',
  reason: 'السبب: {reason}',
  hangup: {
    caller: 'أنهى المتصل المكالمة',
    callee: 'أنهى المتلقي المكالمة',
  },
};
