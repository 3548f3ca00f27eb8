import type { schedules as english } from '../english/schedules.ts';

/** Texts of the schedules pages. */
export const schedules: typeof english = {
  intro: 'الأوقات بالمنطقة الزمنية للجدول وبمنطقتك ({zone}).',
  emptyTitle: 'لا توجد مسارات عمل مجدولة',
  emptyText: 'يبدأ من تلقاء نفسه كل سير عمل مشغّله schedule أو heartbeat. حدّده في علامة التبويب «تحرير» لسير العمل.',
  emptyPage: 'ليس لأي من مسارات العمل المقروءة حتى الآن جدول زمني.',
  toWorkflows: 'مسارات العمل',
  none: 'لا توجد أوقات أخرى.',
  off: 'سير العمل متوقف، لذلك لا يبدأ شيء. هذه هي أوقاته لو كان مفعّلًا:',
  inZone: 'الوقت هناك ({zone})',
  here: 'الوقت هنا',
  distance: 'متى',
  clockChange: 'تغيير الساعة',
  clockChangeText: 'تتغير ساعات هذه المنطقة الزمنية قبل هذا الوقت.',
  showMore: 'عرض 10 أوقات أخرى',
  readMore: 'قراءة مزيد من مسارات العمل',
  missed: 'الأوقات الفائتة',
  onMissed: { skip: 'تُتخطى', last: 'يبدأ آخرها', all: 'تبدأ كلها، {count} على الأكثر' },
  overlap: 'إذا كان هناك تشغيل جارٍ',
  overlaps: { allow: 'يبدأ تشغيل آخر', skip: 'يُتخطى الوقت', queue: 'ينتظر التشغيل الجديد' },
  jitter: 'تأخير عشوائي',
  jitterText: 'حتى {time}',
};
