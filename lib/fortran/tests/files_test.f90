! Files in Fortran. Arguments: "write" or "read", a folder, and "hdf5" if it is built. What one number of nodes has written, another reads;
! every node checks the same. Exit status 1 if anything is wrong.
module files_kernels
   use tacit
   use, intrinsic :: iso_c_binding
   use, intrinsic :: iso_fortran_env, only: int32, int64, real64
   implicit none
contains

   ! u(i, j) = i + 10 j
   subroutine number(k) bind(c)
      type(c_ptr), value :: k
      real(real64), pointer :: u(:, :)
      integer(int64) :: lower(3), upper(3), i, j
      call tacit_chunk(k, lower, upper)
      call tacit_view(k, 1, u)
      do j = lower(2), upper(2)
         do i = lower(1), upper(1)
            u(i, j) = real(i + 10 * j, real64)
         end do
      end do
   end subroutine
end module

program files_test
   use files_kernels
   use tacit_io
   implicit none
   integer, parameter :: rows = 5, columns = 7
   type(tacit_context) :: ctx
   type(tacit_buffer) :: u, v, part
   type(tacit_file_facts) :: facts
   real(real64) :: want(rows, columns), got(rows, columns), some(3, 3)
   integer(int32) :: numbers(6)
   character(300) :: word, folder, hdf5
   integer :: i, j, failures, status

   failures = 0
   call get_command_argument(1, word)
   call get_command_argument(2, folder)
   call get_command_argument(3, hdf5)
   want = reshape([((real(i + 10 * j, real64), i=1, rows), j=1, columns)], shape(want))
   call tacit_init(ctx)
   call tacit_buffer_create(ctx, u, shape(want), storage_size(want) / 8, 'u')
   call tacit_buffer_create(ctx, v, shape(numbers), storage_size(numbers) / 8, 'v')
   call tacit_buffer_create(ctx, part, shape(some), storage_size(some) / 8, 'part')
   if (word == 'write') then
      call write_all()
   else
      call read_all()
   end if
   call tacit_finalize(ctx)
   if (failures > 0) error stop 1, quiet=.true.

contains

   function at(name)
      character(*), intent(in) :: name
      character(:), allocatable :: at
      at = trim(folder)//'/'//name
   end function

   subroutine write_all()
      character(80) :: long
      call tacit_submit(ctx, 'number', shape(want), number, [tacit_write(u, one_to_one())])
      call tacit_fill(ctx, v, 9_int32)
      call tacit_buffer_write(ctx, u, at('u.npy'), TACIT_DOUBLE)
      call tacit_buffer_write(ctx, u, at('part.npy'), TACIT_DOUBLE, lower=[2, 3], upper=[4, 5], sync=.true.)
      call tacit_buffer_write(ctx, u, at('u.png'), TACIT_DOUBLE, low=0d0, high=75d0, colours=TACIT_COLOURS_GREY)
      if (hdf5 == 'hdf5') then
         call tacit_buffer_write(ctx, u, at('f.h5'), TACIT_DOUBLE, dataset='run/u', xdmf=at('f.xdmf'), time=0.5d0, &
                                 attributes=[tacit_attribute_of('step', 12), tacit_attribute_of('time', 0.25d0), &
                                             tacit_attribute_of('who', 'north')])
         call tacit_buffer_write(ctx, v, at('f.h5'), TACIT_INT32, dataset='v', keep=.true.)
      end if
      call tacit_files_wait(ctx)

      call tacit_buffer_write(ctx, u, at('u.npy'), TACIT_DOUBLE, lower=[1], upper=[2], status=status)
      call expect('a box of one dimension', status /= 0 .and. &
                  index(tacit_last_error(ctx), "1 dimensions, and buffer 'u' has 2") > 0)
      call tacit_buffer_write(ctx, u, at('u.npy'), TACIT_DOUBLE, lower=[0, 1], upper=[2, 2], status=status)
      call expect('a box from 0', status /= 0 .and. &
                  index(tacit_last_error(ctx), 'dimension 1 of lower and upper is 0 to 2') > 0)
      long = repeat('n', 80)
      call tacit_buffer_write(ctx, u, at('f.h5'), TACIT_DOUBLE, attributes=[tacit_attribute_of(long, 1)], status=status)
      call expect('a long name', status /= 0 .and. index(tacit_last_error(ctx), 'attribute 1 is too long') > 0)
      call tacit_buffer_write(ctx, u, at('u.txt'), TACIT_DOUBLE, status=status)
      call expect('another suffix', status /= 0 .and. index(tacit_last_error(ctx), 'u.txt') > 0)
      call tacit_fill(ctx, v, 9d0, status)
      call expect('a value of another size', status /= 0 .and. &
                  index(tacit_last_error(ctx), "buffer 'v', which has 4 bytes") > 0)
   end subroutine

   subroutine read_all()
      integer :: step
      real(real64) :: time
      character(20) :: who
      logical :: found
      call tacit_file_look(ctx, at('u.npy'), facts)
      call expect('the shape', facts%found .and. facts%rank == 2 .and. all(facts%shape(1:2) == shape(want)) .and. &
                  facts%numbers == TACIT_DOUBLE)
      call tacit_buffer_read(ctx, u, at('u.npy'), TACIT_DOUBLE)
      call tacit_fence_read(ctx, u, got)
      call expect('u.npy', all(got == want))
      call tacit_buffer_read(ctx, part, at('part.npy'), TACIT_DOUBLE)
      call tacit_fence_read(ctx, part, some)
      call expect('part.npy', all(some == want(2:4, 3:5)))
      call tacit_fill(ctx, u, 0d0)
      call tacit_buffer_read(ctx, u, at('part.npy'), TACIT_DOUBLE, lower=[3, 5], upper=[5, 7])
      call tacit_fence_read(ctx, u, got)
      call expect('into a part', all(got(3:5, 5:7) == some) .and. all(got(:, 1:4) == 0))
      if (hdf5 == 'hdf5') then
         call tacit_buffer_read(ctx, u, at('f.h5'), TACIT_DOUBLE, dataset='run/u')
         call tacit_fence_read(ctx, u, got)
         call expect('run/u', all(got == want))
         call tacit_buffer_read(ctx, v, at('f.h5'), TACIT_INT32, dataset='v')
         call tacit_fence_read(ctx, v, numbers)
         call expect('v', all(numbers == 9))
         call tacit_file_get_attribute(ctx, at('f.h5'), 'step', step, dataset='run/u')
         call tacit_file_get_attribute(ctx, at('f.h5'), 'time', time, dataset='run/u')
         call tacit_file_get_attribute(ctx, at('f.h5'), 'who', who, found, dataset='run/u')
         call expect('attributes', step == 12 .and. time == 0.25d0 .and. found .and. who == 'north')
         call tacit_file_get_attribute(ctx, at('f.h5'), 'none', step, found, dataset='run/u')
         call expect('no such attribute', .not. found)
         call tacit_file_get_attribute(ctx, at('f.h5'), 'none', step, dataset='run/u', status=status)
         call expect('no such attribute, an error', status /= 0 .and. index(tacit_last_error(ctx), 'none') > 0)
      end if
      call tacit_file_look(ctx, at('nowhere.npy'), facts)
      call expect('no such file', .not. facts%found .and. len(facts%why) > 0)
      call tacit_buffer_read(ctx, u, at('nowhere.npy'), TACIT_DOUBLE, tolerant=.true.)
      call tacit_files_wait(ctx, status)
      call expect('a tolerant read', status /= 0 .and. index(tacit_last_error(ctx), 'nowhere.npy') > 0)
   end subroutine

   subroutine expect(what, good)
      character(*), intent(in) :: what
      logical, intent(in) :: good
      if (good) return
      failures = failures + 1
      write (*, '(2a)') 'not true: ', what
   end subroutine
end program
